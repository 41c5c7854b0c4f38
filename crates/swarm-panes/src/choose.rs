//! Which backend is used, and why.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use swarm_protocol::BackendType;

use crate::tmux::{check_tmux, is_own_socket, lead_pane_answers, own_socket, socket_of};
use crate::{HeadlessBackend, PaneBackend, PaneError, Place, TmuxBackend};

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
    /// Folder of the user alone, for sockets and for records of members without a terminal; made when needed. Every
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
    fn shared_socket(&self) -> Option<PathBuf> {
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
    match &request.backend {
        Some(BackendType::Headless) => Ok(headless(facts, "requested")),
        Some(BackendType::Tmux) => tmux(request.place, facts).await,
        Some(other) => Err(unavailable(other)),
        None => match tmux(request.place, facts).await {
            Err(PaneError::TmuxMissing) => Ok(headless(facts, "tmux was not found")),
            Err(
                error @ (PaneError::TmuxTooOld { .. }
                | PaneError::TmuxUnknown { .. }
                | PaneError::TmuxMute { .. }),
            ) => Ok(headless(facts, &error.to_string())),
            chosen => chosen,
        },
    }
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
    match backend {
        BackendType::Headless => Ok(Arc::new(HeadlessBackend::new(facts.own_socket_dir.clone()))),
        BackendType::Tmux => {
            let program = facts.tmux_program.clone().ok_or(PaneError::TmuxMissing)?;
            let here = facts.tmux_env.as_deref().map(socket_of).transpose()?;
            match (socket, here, &facts.tmux_env, &facts.tmux_pane) {
                (Some(socket), Some(here), Some(env), Some(pane)) if socket == here => Ok(
                    Arc::new(TmuxBackend::inside(program, env, pane, Place::default())?),
                ),
                (Some(socket), ..) => {
                    let visitor = TmuxBackend::visitor(program, socket.to_owned());
                    Ok(Arc::new(visitor.nested(facts.tmux_env.is_some())))
                }
                (None, ..) => Err(PaneError::Unavailable {
                    backend: backend.clone(),
                    why: "the roster names no tmux socket for this member",
                }),
            }
        }
        other => Err(unavailable(other)),
    }
}

fn headless(facts: &TerminalFacts, why: &str) -> (Arc<dyn PaneBackend>, Chosen) {
    let chosen = Chosen {
        backend: BackendType::Headless,
        why: format!("running headless ({why})"),
    };
    (
        Arc::new(HeadlessBackend::new(facts.own_socket_dir.clone())),
        chosen,
    )
}

async fn tmux(
    place: Place,
    facts: &TerminalFacts,
) -> Result<(Arc<dyn PaneBackend>, Chosen), PaneError> {
    let program = facts.tmux_program.clone().ok_or(PaneError::TmuxMissing)?;
    let (checked, answers) =
        tokio::join!(check_tmux(&program), lead_answers(&program, place, facts));
    checked?;
    let why_not_here = match (&facts.tmux_env, &facts.tmux_pane) {
        _ if place == Place::Hidden => "panes are to be hidden",
        (None, _) => "this terminal is not in tmux",
        (Some(_), None) => "TMUX is set but TMUX_PANE is not",
        (Some(env), Some(pane)) => {
            if answers? {
                let backend = TmuxBackend::inside(program, env, pane, place)?;
                return Ok(told(backend, "teammates get panes of this tmux".to_owned()));
            }
            "the tmux server that TMUX names does not know this pane"
        }
    };
    let (socket, why) = if let Some(shared) = facts.shared_socket() {
        // Whoever started that server has been told of it in full.
        let why = "with the others of its team on a tmux server of swarm's own";
        (shared, why.to_owned())
    } else {
        let socket = own_socket(&facts.own_socket_dir, facts.server_number);
        let why = format!(
            "teammates get a tmux server of their own at {}: {why_not_here}",
            socket.display()
        );
        (socket, why)
    };
    let backend = TmuxBackend::own(program, socket, facts.server_env.clone())?;
    Ok(told(backend.nested(facts.tmux_env.is_some()), why))
}

/// Whether the lead's pane is there, where that matters.
async fn lead_answers(
    program: &Path,
    place: Place,
    facts: &TerminalFacts,
) -> Result<bool, PaneError> {
    match (&facts.tmux_env, &facts.tmux_pane) {
        (Some(env), Some(pane)) if place != Place::Hidden => {
            lead_pane_answers(program, &socket_of(env)?, pane).await
        }
        _ => Ok(false),
    }
}

fn told(backend: TmuxBackend, why: String) -> (Arc<dyn PaneBackend>, Chosen) {
    let chosen = Chosen {
        backend: BackendType::Tmux,
        why,
    };
    (Arc::new(backend), chosen)
}

/// Said of the backends of later versions.
const LATER: &str = "this version has auto, tmux and headless";

fn unavailable(backend: &BackendType) -> PaneError {
    let why = match backend {
        BackendType::InProcess => LATER,
        BackendType::Other(word) if word == "iterm2" || word == "command" => LATER,
        _ => "there is no such backend; use auto, tmux or headless",
    };
    PaneError::Unavailable {
        backend: backend.clone(),
        why,
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
