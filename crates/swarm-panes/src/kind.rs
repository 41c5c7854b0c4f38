//! The kinds of backends and their properties.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use crate::{PaneBackend, PaneError, PanePlacement, TerminalFacts};

/// What a backend is selected for.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// The reason for selecting its kind.
    pub reason: &'a str,
    /// The place of the panes.
    pub place: PanePlacement,
    /// The terminal.
    pub facts: &'a TerminalFacts,
}

/// A backend, and the reason for it as a sentence without a full stop.
pub type SelectedBackend = (Arc<dyn PaneBackend>, String);

/// A kind of backend. To add one, implement this trait and [`PaneBackend`] and add it to the
/// lists in `backend_list.rs`.
#[async_trait]
pub trait BackendKind: Send + Sync + Debug {
    /// Returns the value used in the roster.
    fn backend(&self) -> BackendType;

    /// Whether `auto` tries this kind in this terminal.
    fn suits(&self, _place: PanePlacement, _facts: &TerminalFacts) -> bool {
        true
    }

    /// Selects the backend for new members.
    ///
    /// # Errors
    /// [`PaneError`] if it cannot be used here.
    async fn select(&self, wanted: &Selection<'_>) -> Result<SelectedBackend, PaneError>;

    /// Returns the reason for `auto` to try the next kind after this error of
    /// [`BackendKind::select`]; `None` if the error is final.
    fn skip_reason(&self, _error: &PaneError) -> Option<String> {
        None
    }

    /// Returns the backend of a pane in a roster.
    ///
    /// # Errors
    /// [`PaneError`] if it cannot be reached.
    fn backend_for_pane(
        &self,
        socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError>;

    /// Returns every backend of this kind that may have panes, given the sockets in rosters.
    fn backends(
        &self,
        _sockets: &BTreeSet<PathBuf>,
        facts: &TerminalFacts,
    ) -> Vec<Arc<dyn PaneBackend>> {
        self.backend_for_pane(None, facts).into_iter().collect()
    }

    /// Returns the pane in which the calling process runs, based on environment variables.
    fn own_pane(&self, _variable: &dyn Fn(&str) -> Option<String>) -> Option<PaneId> {
        None
    }

    /// Whether a person can look at a pane.
    fn has_panes(&self) -> bool {
        true
    }

    /// Whether a pane displays the title that its program sets.
    fn shows_titles(&self) -> bool {
        false
    }

    /// Returns a note about a key in a pane, for example that it must be pressed twice.
    fn key_hint(&self) -> &'static str {
        ""
    }

    /// Describes the pane for a list; `server` is the name of its server if the team uses several.
    fn describe(&self, _pane: &PaneId, _server: Option<&str>) -> String {
        self.backend().name().to_owned()
    }

    /// Checks the programs that the backend needs. `None` if it needs none.
    async fn check(&self, _facts: &TerminalFacts) -> Option<BackendCheck> {
        None
    }
}

/// Result of checking the programs of a backend.
#[derive(Debug)]
pub struct BackendCheck {
    /// Name of the program.
    pub program: &'static str,
    /// The version, or the reason for which the backend cannot be used.
    pub found: Result<String, PaneError>,
    /// A warning, even if the backend can be used.
    pub remark: Option<String>,
}
