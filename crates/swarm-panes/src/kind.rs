//! The kinds of backends, and what other code needs to know about each of them.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use crate::headless::Headless;
use crate::tmux::Tmux;
use crate::{PaneBackend, PaneError, Place, TerminalFacts};

/// All kinds. `auto` tries them in this order.
pub(crate) const KINDS: &[&dyn BackendKind] = &[&Tmux, &Headless];

/// The values of `--backend` and of the setting `spawn.backend`: `auto` and the name of each kind.
pub const BACKEND_WORDS: &[&str] = &["auto", "tmux", "headless"];

/// A kind of backend. A new one is an implementation of this trait and of [`PaneBackend`], and its entry in the two lists above.
#[async_trait]
pub trait BackendKind: Send + Sync + Debug {
    /// Its value in the roster.
    fn backend(&self) -> BackendType;

    /// Opens the place for new members, and says why it is this one, as a sentence without its full stop. `reason` is why this
    /// kind is used at all.
    ///
    /// # Errors
    /// [`PaneError`] when it cannot be used here.
    async fn select(
        &self,
        reason: &str,
        place: Place,
        facts: &TerminalFacts,
    ) -> Result<(Arc<dyn PaneBackend>, String), PaneError>;

    /// Why `auto` tries the next kind after this error of [`BackendKind::select`]; `None` if the error is final.
    fn passes_over(&self, _error: &PaneError) -> Option<String> {
        None
    }

    /// The backend of a pane that a roster names.
    ///
    /// # Errors
    /// [`PaneError`] when it cannot be reached.
    fn reach(
        &self,
        socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError>;

    /// Every place of this kind where panes may be, given the sockets that rosters name.
    fn places(
        &self,
        sockets: &BTreeSet<PathBuf>,
        facts: &TerminalFacts,
    ) -> Vec<Arc<dyn PaneBackend>>;

    /// The pane in which the calling process runs, from the value of each environment variable.
    fn own_pane(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<PaneId>;

    /// Whether a person can look at a pane.
    fn has_panes(&self) -> bool {
        true
    }

    /// Whether a pane shows the title that its program sets.
    fn shows_titles(&self) -> bool {
        false
    }

    /// What to add to the name of a key in a pane, such as that it has to be typed twice.
    fn key_hint(&self) -> &'static str {
        ""
    }

    /// The pane in a few words for a list; `server` is the name of its server if the team has several.
    fn describe(&self, pane: &PaneId, server: Option<&str>) -> String;

    /// Looks at the programs that it needs. `None` if it needs none.
    async fn check(&self, facts: &TerminalFacts) -> Option<BackendCheck>;
}

/// What a look at the programs of a backend found.
#[derive(Debug)]
pub struct BackendCheck {
    /// The program that was looked at.
    pub program: &'static str,
    /// What was found, or why the backend cannot be used.
    pub found: Result<String, PaneError>,
    /// What a person should know although it can be used.
    pub remark: Option<String>,
}

/// The kind with this value in the roster.
pub fn backend_kind(backend: &BackendType) -> Option<&'static dyn BackendKind> {
    KINDS
        .iter()
        .copied()
        .find(|kind| kind.backend() == *backend)
}

/// All kinds of backends.
pub fn backend_kinds() -> impl Iterator<Item = &'static dyn BackendKind> {
    KINDS.iter().copied()
}

/// The kind and the pane in which the calling process runs, from the value of each environment variable.
pub fn own_backend(
    variable: &dyn Fn(&str) -> Option<String>,
) -> (&'static dyn BackendKind, Option<PaneId>) {
    let own = |kind: &'static dyn BackendKind| Some((kind, Some(kind.own_pane(variable)?)));
    backend_kinds().find_map(own).unwrap_or((&Headless, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_auto_and_the_names_of_all_kinds() {
        let names: Vec<BackendType> = backend_kinds().map(BackendKind::backend).collect();
        let names = names.iter().map(BackendType::name);
        let words: Vec<&str> = std::iter::once("auto").chain(names).collect();
        assert_eq!(words, BACKEND_WORDS);
    }

    #[test]
    fn a_process_knows_its_pane_from_its_environment() {
        let in_tmux = |name: &str| (name == "TMUX_PANE").then(|| "%7".to_owned());
        let (kind, pane) = own_backend(&in_tmux);
        assert_eq!(kind.backend(), BackendType::Tmux);
        assert_eq!(pane, Some(PaneId::new("%7")));
        let (kind, pane) = own_backend(&|_| None);
        assert_eq!((kind.backend(), pane), (BackendType::Headless, None));
    }
}
