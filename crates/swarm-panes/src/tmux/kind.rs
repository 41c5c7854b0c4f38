//! The tmux backend as a [`BackendKind`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use super::features::NEWEST_TESTED;
use super::{TmuxBackend, check_tmux, lead_pane_answers, own_socket, socket_of, tmux_version};
use crate::{
    BackendCheck, BackendKind, PaneBackend, PaneError, PanePlacement, SelectedBackend, Selection,
    TerminalFacts,
};

/// Panes of tmux.
#[derive(Debug)]
pub(crate) struct Tmux;

#[async_trait]
impl BackendKind for Tmux {
    fn backend(&self) -> BackendType {
        BackendType::Tmux
    }

    /// Inside tmux selects its panes, otherwise those of swarm's own server.
    async fn select(&self, wanted: &Selection<'_>) -> Result<SelectedBackend, PaneError> {
        let Selection { facts, place, .. } = *wanted;
        let program = facts.tmux_program.clone().ok_or(PaneError::TmuxMissing)?;
        let (checked, answers) =
            tokio::join!(check_tmux(&program), lead_answers(&program, place, facts));
        checked?;
        let why_not_here = match (&facts.tmux_env, &facts.tmux_pane) {
            _ if place == PanePlacement::Hidden => "panes are hidden",
            (None, _) => "this terminal is not inside tmux",
            (Some(_), None) => "TMUX is set but TMUX_PANE is not",
            (Some(env), Some(pane)) => {
                if answers? {
                    let backend = TmuxBackend::inside(program, env, pane, place)?;
                    let why = "teammates run in panes of this tmux".to_owned();
                    return Ok((Arc::new(backend), why));
                }
                "the tmux server in TMUX does not contain this pane"
            }
        };
        let (socket, why) = if let Some(shared) = facts.shared_socket() {
            // The user was informed when that server was started.
            let why = "joining its team on swarm's own tmux server";
            (shared, why.to_owned())
        } else {
            let socket = own_socket(&facts.own_socket_dir, facts.server_number);
            let why = format!(
                "teammates run on swarm's own tmux server at {}: {why_not_here}",
                socket.display()
            );
            (socket, why)
        };
        let backend = TmuxBackend::own(program, socket, facts.server_env.clone())?;
        let backend = backend.nested(facts.tmux_env.is_some());
        Ok((Arc::new(backend), why))
    }

    fn skip_reason(&self, error: &PaneError) -> Option<String> {
        match error {
            PaneError::TmuxMissing => Some("tmux not found".to_owned()),
            PaneError::TmuxTooOld { .. }
            | PaneError::TmuxUnknown { .. }
            | PaneError::TmuxUnresponsive { .. } => Some(error.to_string()),
            _ => None,
        }
    }

    fn backend_for_pane(
        &self,
        socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        let program = facts.tmux_program.clone().ok_or(PaneError::TmuxMissing)?;
        let here = facts.tmux_env.as_deref().map(socket_of).transpose()?;
        match (socket, here, &facts.tmux_env, &facts.tmux_pane) {
            (Some(socket), Some(here), Some(env), Some(pane)) if socket == here => Ok(Arc::new(
                TmuxBackend::inside(program, env, pane, PanePlacement::default())?,
            )),
            (Some(socket), ..) => {
                let for_server = TmuxBackend::for_server(program, socket.to_owned());
                Ok(Arc::new(for_server.nested(facts.tmux_env.is_some())))
            }
            (None, ..) => Err(PaneError::Unavailable {
                backend: self.backend(),
                why: "the roster has no tmux socket for this member".to_owned(),
            }),
        }
    }

    /// The servers in rosters, that of this terminal, and swarm's own.
    fn backends(
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
        let reached = sockets
            .iter()
            .map(|socket| self.backend_for_pane(Some(socket), facts));
        reached.filter_map(Result::ok).collect()
    }

    fn own_pane(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<PaneId> {
        variable("TMUX_PANE").map(PaneId::new)
    }

    fn shows_titles(&self) -> bool {
        true
    }

    /// Ctrl-B is tmux's default prefix key; pressing it twice sends it to the program.
    fn key_hint(&self) -> &'static str {
        " (twice in tmux)"
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
                let (major, minor) = NEWEST_TESTED;
                remark = version.is_untested().then(|| {
                    format!("swarm was tested up to tmux {major}.{minor}; report any problems")
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

/// Returns whether the lead's pane exists, if that is relevant.
async fn lead_answers(
    program: &Path,
    place: PanePlacement,
    facts: &TerminalFacts,
) -> Result<bool, PaneError> {
    match (&facts.tmux_env, &facts.tmux_pane) {
        (Some(env), Some(pane)) if place != PanePlacement::Hidden => {
            lead_pane_answers(program, &socket_of(env)?, pane).await
        }
        _ => Ok(false),
    }
}
