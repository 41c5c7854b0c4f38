//! The [`PaneBackend`] implementation for tmux.

use std::ffi::OsString;
use std::path::Path;

use async_trait::async_trait;
use swarm_protocol::{BackendType, SpawnId, TeamName};
use tmux_interface::{AttachSession, SwitchClient};

use super::backend::{TmuxBackend, checked, foreign};
use super::batch::Batch;
use super::commands;
use super::layout_lock::Layout;
use super::program::{self, Child};
use super::snapshot::Snapshot;
use super::tidy::ClosingWindow;
use super::{create, view, watch};
use crate::text;
use crate::{
    Pane, PaneBackend, PaneCommand, PaneError, PaneSpec, PaneStatus, PaneText, Started, TaggedPane,
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
        let mut layout = Layout::lock(&self.layout).await;
        let pane = create::open(self, spec, None, &mut layout).await?;
        tracing::debug!(member = %spec.member, spawn = %spec.spawn_id, pane = %pane.id, "pane opened");
        Ok(pane)
    }

    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError> {
        let id = checked(&pane.id)?;
        let server = self.server_of(pane);
        match Snapshot::take(&server).await?.pane(id) {
            Some(row) if row.tag.is_some() => {}
            Some(_) => return Err(PaneError::Unowned(id.clone())),
            None => return Err(PaneError::Gone(id.clone())),
        }
        program::prepare(command)?;
        let batch = program::starting(id, command)?;
        let answer = self.run_on(pane, &batch.then(&Snapshot::command())).await?;
        let child = Child::in_pane(&Snapshot::parse(&answer)?, id);
        self.remember(pane, child);
        tracing::debug!(pane = %id, pid = child.map(|child| child.pid), "program started");
        Ok(Started {
            pid: child.map(|child| child.pid),
        })
    }

    async fn launch(&self, spec: &PaneSpec, command: &PaneCommand) -> Result<Pane, PaneError> {
        program::prepare(command)?;
        let mut layout = Layout::lock(&self.layout).await;
        let pane = create::open(self, spec, Some(command), &mut layout).await?;
        tracing::debug!(member = %spec.member, spawn = %spec.spawn_id, pane = %pane.id, "pane opened and program started");
        Ok(pane)
    }

    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        self.current_status(pane).await
    }

    async fn capture(&self, pane: &Pane, part: PaneText) -> Result<String, PaneError> {
        let id = checked(&pane.id)?;
        let from = part
            .lines
            .map(|lines| -i64::try_from(lines).unwrap_or(i64::MAX));
        let capture = commands::capture(id, from, part.escapes);
        let text = self.run_on(pane, &Batch::new().then(&capture)).await?;
        Ok(text::last_lines(&text, part.lines))
    }

    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        let id = checked(&pane.id)?;
        let mut layout = Layout::lock(&self.layout).await;
        layout.take_last_snapshot();
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
            Some(None) => return Err(foreign(id, owner, "not created by swarm")),
        }
        self.tidy(&server, ClosingWindow::of(&snapshot, id)).await
    }

    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        watch::exited(self, pane).await
    }

    /// Inside tmux, the person's client is switched to the pane; otherwise a client is attached to
    /// it.
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

    async fn all_panes(&self) -> Result<Vec<TaggedPane>, PaneError> {
        let snapshot = Snapshot::take_current(self.server()).await?;
        Ok(tagged(&snapshot, Some(self.socket())))
    }

    async fn view(&self, team: &TeamName) -> Result<Vec<WindowView>, PaneError> {
        view::of_team(self, team).await
    }
}

/// Returns the panes of swarm in a snapshot of the server at `socket`, each once.
pub(super) fn tagged(snapshot: &Snapshot, socket: Option<&Path>) -> Vec<TaggedPane> {
    let mut found: Vec<TaggedPane> = Vec::new();
    for row in &snapshot.rows {
        let Some(tag) = &row.tag else {
            continue;
        };
        if found.iter().any(|tagged| tagged.pane.id == row.id) {
            continue;
        }
        found.push(TaggedPane {
            pane: Pane::new(row.id.clone(), socket.map(Path::to_owned)),
            team: tag.team.clone(),
            member: tag.member.clone(),
            spawn_id: tag.spawn_id,
            root: (!row.root.is_empty()).then(|| row.root.clone().into()),
            title: row.title.clone(),
            status: row.status.clone(),
        });
    }
    found
}
