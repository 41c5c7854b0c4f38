//! Follows the journal of the demo's team: prints it, takes pictures, and turns to the window where
//! something happens.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use swarm_os::{DirectoryWatcher, NameFilter};
use swarm_panes::TmuxBackend;
use swarm_protocol::{Event, JournalEntry, TaskState, UnixMs};
use swarm_store::{Cursor, Team, Topic};
use swarm_ui::picture::{Frame, Window};
use tokio::sync::mpsc::UnboundedSender;

use super::account::{Tally, is_moment, line};
use super::picture::{capture, panes};
use super::server::DemoServer;
use super::stage::Stage;
use crate::app::App;
use crate::failure::Result;

const SHORTEST_FRAME: Duration = Duration::from_millis(600);

/// What is left of the demo when it has ended.
#[derive(Debug, Default)]
pub(super) struct Impressions {
    pub(super) tally: Tally,
    /// Pictures of the panes, each with its time. The last one has all members.
    pub(super) frames: Vec<Frame>,
}

/// Follows the team.
pub(super) struct Audience<'a> {
    pub(super) app: &'a App,
    pub(super) team: Arc<dyn Team>,
    pub(super) server: &'a DemoServer,
    pub(super) backend: TmuxBackend,
    pub(super) began: UnixMs,
    pub(super) prints: bool,
    /// Whether a request waits for an answer.
    pub(super) is_asked: bool,
    /// Gets each event.
    pub(super) person: UnboundedSender<JournalEntry>,
}

impl Audience<'_> {
    /// Follows the team until the run has written its report, or the tmux server has ended.
    pub(super) async fn follow(
        &mut self,
        stage: &Stage,
        impressions: &mut Impressions,
    ) -> Result<()> {
        let watcher = DirectoryWatcher::new();
        let end = NameFilter::Exact(vec!["report.json".into()]);
        let mut report = watcher.subscribe(stage.directory(), end);
        let mut journal = self.team.watch(&watcher, &Topic::Journal);
        let mut server_ended = pin!(self.server.ended());
        let mut position = Cursor::default();
        let mut has_server = true;
        loop {
            let has_ended = stage.report().exists() || !has_server;
            // Before the team exists there is nothing to read.
            if let Ok(news) = self.team.events_from(position).await {
                position = news.next;
                for entry in news.entries {
                    self.take_in(&entry, impressions).await;
                    // Nobody listens once the person has done everything.
                    drop(self.person.send(entry));
                }
            }
            if has_ended {
                return Ok(());
            }
            tokio::select! {
                () = report.changed() => {}
                () = journal.changed() => {}
                () = &mut server_ended => has_server = false,
            }
        }
    }

    async fn take_in(&mut self, entry: &JournalEntry, impressions: &mut Impressions) {
        impressions.tally.count(&entry.event);
        if self.prints {
            if let Some(line) = line(entry, self.began) {
                self.app.out.say(&line);
            }
        } else {
            self.turn_to(&entry.event).await;
        }
        if is_moment(&entry.event) {
            self.take_picture(impressions).await;
        }
    }

    /// Selects the window where an event happens. In a large terminal all are in one window. While
    /// a question is open, the lead's window stays, where it can be answered.
    async fn turn_to(&mut self, event: &Event) {
        match event {
            Event::RequestOpened { .. } => self.is_asked = true,
            Event::RequestAnswered { .. } => self.is_asked = false,
            _ if self.is_asked => return,
            _ => {}
        }
        let pane = match event {
            Event::SpawnCommitted { member, .. } => Some(member.as_str()),
            Event::TaskChanged {
                to: TaskState::InProgress,
                by,
                ..
            } => Some(by.as_str()),
            Event::RequestOpened { .. }
            | Event::RequestAnswered { .. }
            | Event::MemberDied { .. }
            | Event::ShutdownRequested { .. } => None,
            _ => return,
        };
        match pane {
            None => self.server.select(&self.server.lead_pane),
            Some(member) => {
                let Ok(config) = self.team.config().await else {
                    return;
                };
                let mut members = config.members.iter();
                if let Some(member) = members.find(|one| one.name.as_str() == member) {
                    self.server.select(member.tmux_pane_id.as_str());
                }
            }
        }
    }

    async fn take_picture(&self, impressions: &mut Impressions) {
        let frames = &mut impressions.frames;
        let at = Duration::from_millis(self.app.clock.now().since(self.began));
        match capture(&self.backend, self.team.name()).await {
            Ok(windows) if is_new(frames, &windows) => {
                // The later of two pictures in quick succession shows both changes.
                match frames.last_mut() {
                    Some(last) if at.saturating_sub(last.at) < SHORTEST_FRAME => {
                        last.windows = windows;
                    }
                    _ => frames.push(Frame { at, windows }),
                }
            }
            Ok(_) => {}
            Err(failure) => tracing::debug!(message = failure.message, "no picture"),
        }
    }
}

/// Whether windows differ from the last frame. While the team stops, panes vanish; these pictures
/// are left out.
fn is_new(frames: &[Frame], windows: &[Window]) -> bool {
    frames
        .last()
        .is_none_or(|last| last.windows != windows && panes(windows) > 0)
}
