//! Which backend is used, and why.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use swarm_protocol::BackendType;

use crate::tmux::is_own_socket;
use crate::{BACKEND_WORDS, PaneBackend, PaneError, Place, backend_kind, backend_kinds};

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackendRequest {
    /// A backend by name; none lets [`choose`] decide (`auto`).
    pub backend: Option<BackendType>,
    /// Where in the user's tmux panes may appear.
    pub place: Place,
}

impl FromStr for BackendRequest {
    type Err = std::convert::Infallible;

    /// Reads the word of `--backend`. A word that names no backend is refused by [`choose`], which says what there
    /// is.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let backend = (word != "auto").then(|| BackendType::from(word.to_owned()));
        Ok(Self {
            backend,
            place: Place::default(),
        })
    }
}

/// What is known of the terminal and the machine. Read by the program, since libraries look at no environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalFacts {
    /// Value of `TMUX`, when set and not empty.
    pub tmux_env: Option<String>,
    /// Value of `TMUX_PANE`, when set and not empty.
    pub tmux_pane: Option<String>,
    /// Absolute path of the tmux program, when there is one.
    pub tmux_program: Option<PathBuf>,
    /// Directory of the user alone, for sockets and for records of members without a terminal; made when needed. Every
    /// process that is to find such a member must name the same one.
    pub own_socket_dir: PathBuf,
    /// The number in the socket's name of a server of our own: [`crate::server_number`] of the team.
    pub server_number: u32,
    /// The socket of a running server that the roster already names. If it is one of our own, it takes the place of
    /// the one named after `server_number`; the user's is never taken for ours.
    pub own_socket: Option<PathBuf>,
    /// Environment of a server of our own, and so of every pane on it: at least `PATH` and `HOME`, nothing secret.
    pub server_env: Vec<(String, String)>,
}

impl TerminalFacts {
    /// The server of the other members of the team.
    pub(crate) fn shared_socket(&self) -> Option<PathBuf> {
        self.own_socket
            .clone()
            .filter(|socket| is_own_socket(socket))
    }
}

/// A choice to be told to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The backend's kind.
    pub backend: BackendType,
    /// Why this one, as a sentence without its full stop.
    pub why: String,
}

/// Chooses a backend. `auto` is: inside tmux its panes, else a tmux server of our own, else (no tmux) no terminal. A
/// backend that was named is used or refused, never replaced.
///
/// # Errors
/// [`PaneError::TmuxMissing`], [`PaneError::TmuxTooOld`], [`PaneError::Unavailable`], [`PaneError::Silent`] for a tmux
/// around us that does not answer, or [`PaneError::Invalid`] for facts that make no sense.
pub async fn choose(
    request: &BackendRequest,
    facts: &TerminalFacts,
) -> Result<(Arc<dyn PaneBackend>, Chosen), PaneError> {
    if let Some(named) = &request.backend {
        let kind = backend_kind(named).ok_or_else(|| unavailable(named))?;
        let selected = kind.select("requested", request.place, facts).await?;
        return Ok(chosen(selected));
    }
    let mut reason = "auto".to_owned();
    for kind in backend_kinds() {
        match kind.select(&reason, request.place, facts).await {
            Ok(selected) => return Ok(chosen(selected)),
            Err(error) => reason = kind.passes_over(&error).ok_or(error)?,
        }
    }
    Err(unavailable(&BackendType::from("auto".to_owned())))
}

fn chosen((backend, why): (Arc<dyn PaneBackend>, String)) -> (Arc<dyn PaneBackend>, Chosen) {
    let chosen = Chosen {
        backend: backend.kind(),
        why,
    };
    (backend, chosen)
}

/// The backend for a pane that a roster names.
///
/// # Errors
/// [`PaneError::TmuxMissing`] or [`PaneError::Unavailable`].
pub fn reach(
    backend: &BackendType,
    socket: Option<&Path>,
    facts: &TerminalFacts,
) -> Result<Arc<dyn PaneBackend>, PaneError> {
    let kind = backend_kind(backend).ok_or_else(|| unavailable(backend))?;
    kind.reach(socket, facts)
}

/// Every place where panes may be: servers with these sockets, that of this terminal, swarm's own, and none.
pub fn all_places(sockets: &BTreeSet<PathBuf>, facts: &TerminalFacts) -> Vec<Arc<dyn PaneBackend>> {
    backend_kinds()
        .flat_map(|kind| kind.places(sockets, facts))
        .collect()
}

/// The values of `--backend` in a sentence: `auto, tmux and headless`.
pub fn backend_words(and: &str) -> String {
    match BACKEND_WORDS {
        [words @ .., last] if !words.is_empty() => format!("{} {and} {last}", words.join(", ")),
        words => words.concat(),
    }
}

fn unavailable(backend: &BackendType) -> PaneError {
    PaneError::Unavailable {
        backend: backend.clone(),
        why: format!("this version has {}", backend_words("and")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> TerminalFacts {
        TerminalFacts {
            own_socket_dir: PathBuf::from("/nonexistent/swarm"),
            server_number: 7,
            ..TerminalFacts::default()
        }
    }

    fn request(word: &str) -> BackendRequest {
        let Ok(request) = word.parse();
        request
    }

    #[tokio::test]
    async fn without_tmux_auto_is_headless_and_says_so_and_tmux_is_refused() {
        let (backend, chosen) = choose(&request("auto"), &facts()).await.unwrap();
        assert_eq!(backend.kind(), BackendType::Headless);
        assert!(chosen.why.contains("tmux was not found"), "{}", chosen.why);
        let refused = choose(&request("tmux"), &facts()).await.unwrap_err();
        assert!(matches!(refused, PaneError::TmuxMissing));
        assert_eq!(refused.kind(), swarm_protocol::ErrorKind::Environment);
    }

    #[tokio::test]
    async fn backends_of_other_versions_are_refused_by_name() {
        for word in ["in-process", "iterm2", "command", "screen"] {
            let refused = choose(&request(word), &facts()).await.unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
        }
    }
}
