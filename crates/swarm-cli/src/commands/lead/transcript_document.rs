//! A transcript in the pager: everything unfolded, drawn as in a pane.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_agent::TranscriptReplay;
use swarm_os::OsError;
use swarm_protocol::AgentEvent;
use swarm_ui::{Document, Linker, PaneView, Theme};

use crate::drawn::Drawn;

/// The transcript of a member as a document. Each line is a block, which is parsed and drawn when
/// it is shown.
pub(super) struct TranscriptDocument {
    replay: TranscriptReplay,
    cwd: PathBuf,
    home: Option<PathBuf>,
    links: Option<Linker>,
}

impl TranscriptDocument {
    /// Opens a transcript. Paths are shown relative to `cwd`.
    pub(super) fn open(path: &Path, cwd: &Path, home: Option<PathBuf>) -> Result<Self, OsError> {
        Ok(Self {
            replay: TranscriptReplay::open(path)?,
            cwd: cwd.to_owned(),
            home,
            links: None,
        })
    }

    /// Makes links of words.
    pub(super) fn linked(mut self, links: Option<Linker>) -> Self {
        self.links = links;
        self
    }
}

impl Document for TranscriptDocument {
    fn blocks(&self) -> usize {
        self.replay.count()
    }

    fn rows(&self, block: usize, theme: Theme) -> Vec<String> {
        let events = self.replay.events(block);
        if events.is_empty() {
            return Vec::new();
        }
        let drawn = Drawn::default();
        let home = self.home.as_deref();
        let mut view = PaneView::unfolded(drawn.clone(), theme, &self.cwd, home);
        if let Some(links) = self.links.as_ref().filter(|_| theme.color) {
            view = view.linked(Arc::clone(links));
        }
        for event in &events {
            view.event(event);
        }
        drop(view);
        let text = drawn.take();
        let is_input = events
            .iter()
            .any(|event| matches!(event, AgentEvent::MailIn { .. }));
        let gap = is_input.then(String::new);
        gap.into_iter()
            .chain(text.lines().map(str::to_owned))
            .collect()
    }

    fn refresh(&mut self) -> bool {
        self.replay.read_more().unwrap_or_else(|error| {
            tracing::warn!(%error, "transcript not read");
            false
        })
    }
}
