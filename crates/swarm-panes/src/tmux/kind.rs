//! The tmux backend among the others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use super::features::NEWEST_TRIED;
use super::{TmuxBackend, check_tmux, lead_pane_answers, own_socket, socket_of, tmux_version};
use crate::{BackendCheck, BackendKind, PaneBackend, PaneError, Place, TerminalFacts};

/// Panes of tmux.
#[derive(Debug)]
pub(crate) struct Tmux;

#[async_trait]
impl BackendKind for Tmux {
    fn backend(&self) -> BackendType {
        BackendType::Tmux
    }

    /// Inside tmux its panes, else those of a server of swarm's own.
    async fn select(
        &self,
        _reason: &str,
        place: Place,
        facts: &TerminalFacts,
    ) -> Result<(Arc<dyn PaneBackend>, String), PaneError> {
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
                    let why = "teammates get panes of this tmux".to_owned();
                    return Ok((Arc::new(backend), why));
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
        let backend = backend.nested(facts.tmux_env.is_some());
        Ok((Arc::new(backend), why))
    }

    fn passes_over(&self, error: &PaneError) -> Option<String> {
        match error {
            PaneError::TmuxMissing => Some("tmux was not found".to_owned()),
            PaneError::TmuxTooOld { .. }
            | PaneError::TmuxUnknown { .. }
            | PaneError::TmuxMute { .. } => Some(error.to_string()),
            _ => None,
        }
    }

    fn reach(
        &self,
        socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        let program = facts.tmux_program.clone().ok_or(PaneError::TmuxMissing)?;
        let here = facts.tmux_env.as_deref().map(socket_of).transpose()?;
        match (socket, here, &facts.tmux_env, &facts.tmux_pane) {
            (Some(socket), Some(here), Some(env), Some(pane)) if socket == here => Ok(Arc::new(
                TmuxBackend::inside(program, env, pane, Place::default())?,
            )),
            (Some(socket), ..) => {
                let visitor = TmuxBackend::visitor(program, socket.to_owned());
                Ok(Arc::new(visitor.nested(facts.tmux_env.is_some())))
            }
            (None, ..) => Err(PaneError::Unavailable {
                backend: self.backend(),
                why: "the roster names no tmux socket for this member".to_owned(),
            }),
        }
    }

    /// The servers that rosters name, that of this terminal, and swarm's own.
    fn places(
        &self,
        sockets: &BTreeSet<PathBuf>,
        facts: &TerminalFacts,
    ) -> Vec<Arc<dyn PaneBackend>> {
        let mut sockets = sockets.clone();
        sockets.extend(super::own_sockets(&facts.own_socket_dir));
        sockets.extend(
            facts
                .tmux_env
                .as_deref()
                .and_then(|env| socket_of(env).ok()),
        );
        let reached = sockets.iter().map(|socket| self.reach(Some(socket), facts));
        reached.filter_map(Result::ok).collect()
    }

    fn own_pane(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<PaneId> {
        variable("TMUX_PANE").map(PaneId::new)
    }

    fn shows_titles(&self) -> bool {
        true
    }

    /// Ctrl-B is the usual prefix of tmux commands, and passed on when it is typed twice.
    fn key_hint(&self) -> &'static str {
        " (in tmux twice)"
    }

    fn describe(&self, pane: &PaneId, server: Option<&str>) -> String {
        match (pane.as_str(), server) {
            ("", _) => self.backend().name().to_owned(),
            (pane, None) => format!("tmux {pane}"),
            (pane, Some(server)) => format!("tmux {pane} on {server}"),
        }
    }

    async fn check(&self, facts: &TerminalFacts) -> Option<BackendCheck> {
        let mut remark = None;
        let found = match &facts.tmux_program {
            None => Err(PaneError::TmuxMissing),
            Some(program) => tmux_version(program).await.and_then(|version| {
                let missing = version.missing();
                if !missing.is_empty() {
                    return Err(PaneError::TmuxTooOld {
                        program: program.clone(),
                        found: version,
                        missing,
                    });
                }
                let (major, minor) = NEWEST_TRIED;
                remark = version.is_untried().then(|| {
                    format!("swarm was tried up to tmux {major}.{minor}; report what looks wrong")
                });
                Ok(format!("{version}, {}", program.display()))
            }),
        };
        Some(BackendCheck {
            program: "tmux",
            found,
            remark,
        })
    }
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
