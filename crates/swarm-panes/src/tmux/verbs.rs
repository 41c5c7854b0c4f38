//! tmux as a [`PaneBackend`].

use std::ffi::OsString;
use std::path::Path;

use async_trait::async_trait;
use swarm_protocol::{BackendType, SpawnId, TeamName};
use tmux_interface::{AttachSession, PipePane, SwitchClient};

use super::backend::{TmuxBackend, checked, foreign};
use super::batch::Batch;
use super::commands::{self, WORDS_LIMIT};
use super::snapshot::Snapshot;
use super::tidy::Left;
use super::{create, view, watch};
use crate::log;
use crate::text;
use crate::{
    Pane, PaneBackend, PaneCommand, PaneError, PaneSpec, PaneStatus, Started, TaggedPane,
    WindowView,
};

#[async_trait]
impl PaneBackend for TmuxBackend {
    fn kind(&self) -> BackendType {
        BackendType::Tmux
    }

    fn socket(&self) -> Option<&Path> {
        Some(self.server().socket())
    }

    async fn open(&self, spec: &PaneSpec) -> Result<Pane, PaneError> {
        let _alone = self.layout.lock().await;
        let pane = create::open(self, spec).await?;
        tracing::debug!(member = %spec.member, spawn = %spec.spawn_id, pane = %pane.id, "pane opened");
        Ok(pane)
    }

    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError> {
        let id = checked(&pane.id)?;
        command.check()?;
        let server = self.server_of(pane);
        match Snapshot::take(&server).await?.pane(id) {
            Some(row) if row.tag.is_some() => {}
            Some(_) => return Err(PaneError::Unowned { pane: id.clone() }),
            None => return Err(PaneError::Gone { pane: id.clone() }),
        }
        let (head, words) = commands::respawn(id, command)?;
        let mut batch = Batch::new().then_with(&head, words);
        let bytes = batch.bytes();
        if bytes > WORDS_LIMIT {
            return Err(PaneError::TooLong {
                pane: id.clone(),
                bytes,
                limit: WORDS_LIMIT,
            });
        }
        batch = batch.then(&commands::set_on_pane(id, "@swarm_started", "1"));
        if let Some(file) = &command.log {
            log::prepare(file)?;
            let pipe = PipePane::new()
                // `-O`, named from the side of the command: the pane's output is its stdin.
                .stdin()
                .target_pane(id.as_str().to_owned())
                .build();
            batch = batch.then_with(&pipe, [text::append_command(file)]);
        }
        let answer = self.run_on(pane, &batch.then(&Snapshot::command())).await?;
        let pid = match Snapshot::parse(&answer)?.pane(id).map(|row| &row.status) {
            Some(PaneStatus::Running { pid }) => Some(*pid),
            _ => None,
        };
        tracing::debug!(pane = %id, ?pid, "program started");
        Ok(Started { pid })
    }

    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        self.look(pane).await
    }

    async fn capture(
        &self,
        pane: &Pane,
        lines: Option<usize>,
        escapes: bool,
    ) -> Result<String, PaneError> {
        let id = checked(&pane.id)?;
        let from = lines.map(|lines| -i64::try_from(lines).unwrap_or(i64::MAX));
        let capture = commands::capture(id, from, escapes);
        let text = self.run_on(pane, &Batch::new().then(&capture)).await?;
        Ok(text::last_lines(&text, lines))
    }

    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        let id = checked(&pane.id)?;
        let _alone = self.layout.lock().await;
        let server = self.server_of(pane);
        let snapshot = Snapshot::take(&server).await?;
        let row = snapshot.pane(id);
        match row.map(|row| &row.tag) {
            None => {}
            Some(Some(tag)) if tag.spawn_id == *owner => self.kill(&server, id, tag).await?,
            Some(Some(tag)) => {
                let found = format!("it is {}'s, spawn {}", tag.member, tag.spawn_id);
                return Err(foreign(id, owner, found));
            }
            Some(None) => return Err(foreign(id, owner, "swarm did not make it")),
        }
        self.tidy(&server, Left::by(&snapshot, id)).await
    }

    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        watch::exited(self, pane).await
    }

    /// Inside tmux the person's client is switched to the pane; from elsewhere a client is attached to it.
    async fn attach_command(&self, pane: &Pane) -> Vec<OsString> {
        let Ok(id) = checked(&pane.id) else {
            return Vec::new();
        };
        let server = self.server_of(pane);
        let target = id.as_str().to_owned();
        let here = self.is_inside() && server.socket() == self.socket();
        let command = if here {
            SwitchClient::new().target_session(target).build()
        } else {
            AttachSession::new().target_session(target).build()
        };
        let mut words: Vec<OsString> = Vec::new();
        if self.nested && !here {
            words.extend(["env".into(), "-u".into(), "TMUX".into()]);
        }
        words.extend([
            server.program().into(),
            "-u".into(),
            "-S".into(),
            server.socket().into(),
        ]);
        words.extend(Batch::new().then(&command).arguments());
        words
    }

    async fn panes(&self, team: &TeamName) -> Result<Vec<TaggedPane>, PaneError> {
        let snapshot = Snapshot::take_settled(self.server()).await?;
        let mut found: Vec<TaggedPane> = Vec::new();
        for row in &snapshot.rows {
            let Some(tag) = row.tag.as_ref().filter(|tag| tag.team == *team) else {
                continue;
            };
            if found.iter().any(|tagged| tagged.pane.id == row.id) {
                continue;
            }
            found.push(TaggedPane {
                pane: Pane {
                    id: row.id.clone(),
                    socket: Some(self.socket().to_owned()),
                    spot: None,
                },
                team: tag.team.clone(),
                member: tag.member.clone(),
                spawn_id: tag.spawn_id,
                title: row.title.clone(),
                status: row.status.clone(),
            });
        }
        Ok(found)
    }

    async fn view(&self, team: &TeamName) -> Result<Vec<WindowView>, PaneError> {
        view::of_team(self, team).await
    }
}
