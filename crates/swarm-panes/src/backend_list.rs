//! The list of pane backends.

use swarm_protocol::{BackendType, PaneId};

use crate::external::{Command, ITerm2};
use crate::headless::Headless;
use crate::in_process::InProcess;
use crate::kind::BackendKind;
use crate::tmux::Tmux;

/// All kinds.
const KINDS: &[&dyn BackendKind] = &[&Tmux, &ITerm2, &Command, &Headless, &InProcess];

/// The kinds that `auto` tries, in this order.
pub(crate) const AUTOMATIC: &[&dyn BackendKind] = &[&ITerm2, &Tmux, &Headless];

/// The values of `--backend` and of the setting `spawn.backend`: `auto` and the name of each kind.
pub const BACKEND_WORDS: &[&str] = &[
    "auto",
    "tmux",
    "iterm2",
    "command",
    "headless",
    "in-process",
];

/// Returns the kind with this value in the roster.
pub fn backend_kind(backend: &BackendType) -> Option<&'static dyn BackendKind> {
    KINDS
        .iter()
        .copied()
        .find(|kind| kind.backend() == *backend)
}

/// Whether `auto` may select backends of this kind.
pub fn is_automatic(kind: &dyn BackendKind) -> bool {
    let kind = kind.backend();
    AUTOMATIC
        .iter()
        .any(|automatic| automatic.backend() == kind)
}

/// Returns all kinds of backends.
pub fn backend_kinds() -> impl Iterator<Item = &'static dyn BackendKind> {
    KINDS.iter().copied()
}

/// Returns the kind and the pane in which the calling process runs, based on environment variables.
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
    fn the_backend_options_are_auto_and_the_names_of_all_kinds() {
        let names: Vec<BackendType> = backend_kinds().map(BackendKind::backend).collect();
        let names = names.iter().map(BackendType::name);
        let words: Vec<&str> = std::iter::once("auto").chain(names).collect();
        assert_eq!(words, BACKEND_WORDS);
    }

    #[test]
    fn the_own_pane_is_read_from_the_environment() {
        let in_tmux = |name: &str| (name == "TMUX_PANE").then(|| "%7".to_owned());
        let (kind, pane) = own_backend(&in_tmux);
        assert_eq!(kind.backend(), BackendType::Tmux);
        assert_eq!(pane, Some(PaneId::new("%7")));
        let (kind, pane) = own_backend(&|_| None);
        assert_eq!((kind.backend(), pane), (BackendType::Headless, None));
    }
}
