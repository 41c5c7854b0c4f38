//! Backend selection.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use swarm_protocol::{BackendType, with_conjunction};

use crate::backend_list::AUTOMATIC;
use crate::{
    BACKEND_WORDS, PaneBackend, PaneError, PanePlacement, SelectedBackend, Selection,
    TerminalFacts, backend_kind, backend_kinds,
};

/// A request for a backend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackendRequest {
    /// Requested backend; `None` lets [`choose`] decide (`auto`).
    pub backend: Option<BackendType>,
    /// Where panes may appear in the user's tmux.
    pub place: PanePlacement,
}

impl FromStr for BackendRequest {
    type Err = std::convert::Infallible;

    /// Parses the value of `--backend`. An unknown value is rejected by [`choose`], which lists the
    /// valid ones.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let backend = (word != "auto").then(|| BackendType::from(word.to_owned()));
        Ok(Self {
            backend,
            place: PanePlacement::default(),
        })
    }
}

/// The selected backend, for display to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Kind of the backend.
    pub backend: BackendType,
    /// Reason, as a sentence without a full stop.
    pub why: String,
}

/// Selects a backend. `auto` selects panes of the current tmux, otherwise of iTerm2 if its `it2`
/// works there, otherwise swarm's own tmux server, otherwise (without tmux) headless processes. An
/// explicitly requested backend is never replaced by another one.
///
/// # Errors
/// [`PaneError::TmuxMissing`], [`PaneError::TmuxTooOld`], [`PaneError::Unavailable`],
/// [`PaneError::Unresponsive`] if the surrounding tmux does not answer, or [`PaneError::Invalid`]
/// for inconsistent facts.
pub async fn choose(
    request: &BackendRequest,
    facts: &TerminalFacts,
) -> Result<(Arc<dyn PaneBackend>, Chosen), PaneError> {
    if let Some(named) = &request.backend {
        let kind = backend_kind(named).ok_or_else(|| unavailable(named))?;
        let selected = kind.select(&selection("requested", request, facts)).await?;
        return Ok(chosen(selected));
    }
    let mut reason = "auto".to_owned();
    for kind in AUTOMATIC {
        if !kind.suits(request.place, facts) {
            continue;
        }
        let selected = kind.select(&selection(&reason, request, facts)).await;
        match selected {
            Ok(selected) => return Ok(chosen(selected)),
            Err(error) => reason = kind.skip_reason(&error).ok_or(error)?,
        }
    }
    Err(unavailable(&BackendType::from("auto".to_owned())))
}

fn selection<'a>(
    reason: &'a str,
    request: &BackendRequest,
    facts: &'a TerminalFacts,
) -> Selection<'a> {
    Selection {
        reason,
        place: request.place,
        facts,
    }
}

fn chosen((backend, why): SelectedBackend) -> (Arc<dyn PaneBackend>, Chosen) {
    let chosen = Chosen {
        backend: backend.kind(),
        why,
    };
    (backend, chosen)
}

/// Returns the backend of a pane in a roster.
///
/// # Errors
/// [`PaneError::TmuxMissing`] or [`PaneError::Unavailable`].
pub fn backend_for_pane(
    backend: &BackendType,
    socket: Option<&Path>,
    facts: &TerminalFacts,
) -> Result<Arc<dyn PaneBackend>, PaneError> {
    let kind = backend_kind(backend).ok_or_else(|| unavailable(backend))?;
    kind.backend_for_pane(socket, facts)
}

/// Returns every backend that may have panes: servers with these sockets, that of this terminal,
/// swarm's own, and the headless one.
pub fn all_backends(
    sockets: &BTreeSet<PathBuf>,
    facts: &TerminalFacts,
) -> Vec<Arc<dyn PaneBackend>> {
    backend_kinds()
        .flat_map(|kind| kind.backends(sockets, facts))
        .collect()
}

fn unavailable(backend: &BackendType) -> PaneError {
    PaneError::Unavailable {
        backend: backend.clone(),
        why: format!(
            "this version has {}",
            with_conjunction(BACKEND_WORDS, "and")
        ),
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
    async fn without_tmux_auto_selects_headless_and_an_explicit_tmux_fails() {
        let (backend, chosen) = choose(&request("auto"), &facts()).await.unwrap();
        assert_eq!(backend.kind(), BackendType::Headless);
        assert!(chosen.why.contains("tmux not found"), "{}", chosen.why);
        let refused = choose(&request("tmux"), &facts()).await.unwrap_err();
        assert!(matches!(refused, PaneError::TmuxMissing));
        assert_eq!(refused.kind(), swarm_protocol::ErrorKind::Environment);
    }

    #[tokio::test]
    async fn unknown_backends_are_rejected_by_name() {
        for word in ["in-process", "screen"] {
            let refused = choose(&request(word), &facts()).await.unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
        }
    }
}
