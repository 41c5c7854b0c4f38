//! The externally controlled terminals as [`BackendKind`]s.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use super::driver::output_of;
use super::{ExternalBackend, It2, PaneDriver, PaneProgram};
use crate::{
    BackendCheck, BackendKind, PaneBackend, PaneError, PanePlacement, SelectedBackend, Selection,
    TerminalFacts,
};

/// Value of `TERM_PROGRAM` in iTerm2. Programs that are started there, such as tmux and editors, set
/// their own but pass on [`ITERM_SESSION`].
const ITERM: &str = "iTerm.app";

/// Variable of iTerm2 with the position and the id of a session, as in `w0t1p2:UUID`.
const ITERM_SESSION: &str = "ITERM_SESSION_ID";

/// Panes of iTerm2.
#[derive(Debug)]
pub(crate) struct ITerm2;

/// Panes that a program of the user opens.
#[derive(Debug)]
pub(crate) struct Command;

/// Returns the id in the value of `ITERM_SESSION_ID`.
fn session_id(value: &str) -> PaneId {
    PaneId::new(value.split_once(':').map_or(value, |(_, id)| id))
}

fn open(facts: &TerminalFacts, driver: impl PaneDriver + 'static) -> Arc<dyn PaneBackend> {
    Arc::new(ExternalBackend::new(
        &facts.own_socket_dir,
        Arc::new(driver),
    ))
}

impl ITerm2 {
    fn driver(facts: &TerminalFacts) -> Result<It2, PaneError> {
        let program = facts
            .it2_program
            .clone()
            .ok_or_else(|| PaneError::Unavailable {
                backend: BackendType::ITerm2,
                why:
                    "it2 not found: install it (uv tool install it2), and allow the Python API in \
                  iTerm2's settings"
                        .to_owned(),
            })?;
        Ok(It2 {
            program,
            lead: facts.iterm_session.as_deref().map(session_id),
            env: facts.control_env.clone(),
        })
    }

    /// Returns a driver that reaches iTerm2.
    async fn answering(facts: &TerminalFacts) -> Result<It2, PaneError> {
        let driver = Self::driver(facts)?;
        let words = ["session".into(), "list".into()];
        output_of(&driver.program, &words, &driver.env).await?;
        Ok(driver)
    }
}

impl Command {
    fn driver(facts: &TerminalFacts) -> Result<PaneProgram, PaneError> {
        let unavailable = |why: String| PaneError::Unavailable {
            backend: BackendType::Command,
            why,
        };
        let program = facts.pane_program.clone().ok_or_else(|| {
            let why = "the setting `spawn.pane_program` names no program";
            unavailable(why.to_owned())
        })?;
        if !program.is_absolute() || !program.is_file() {
            let why = format!(
                "`spawn.pane_program` ({}) is not the absolute path of a file",
                program.display()
            );
            return Err(unavailable(why));
        }
        Ok(PaneProgram {
            program,
            env: facts.control_env.clone(),
        })
    }
}

#[async_trait]
impl BackendKind for ITerm2 {
    fn backend(&self) -> BackendType {
        BackendType::ITerm2
    }

    /// Not within tmux, nor if the team is on swarm's own tmux server.
    fn suits(&self, place: PanePlacement, facts: &TerminalFacts) -> bool {
        let mut programs = facts
            .control_env
            .iter()
            .filter(|(name, _)| name == "TERM_PROGRAM");
        programs.any(|(_, program)| program == ITERM)
            && facts.iterm_session.is_some()
            && facts.it2_program.is_some()
            && facts.tmux_env.is_none()
            && facts.shared_socket().is_none()
            && place != PanePlacement::Hidden
    }

    async fn select(&self, wanted: &Selection<'_>) -> Result<SelectedBackend, PaneError> {
        let facts = wanted.facts;
        let driver = Self::answering(facts).await?;
        Ok((
            open(facts, driver),
            "teammates run in panes of iTerm2".to_owned(),
        ))
    }

    fn skip_reason(&self, error: &PaneError) -> Option<String> {
        Some(error.to_string())
    }

    fn backend_for_pane(
        &self,
        _socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        Ok(open(facts, Self::driver(facts)?))
    }

    fn own_pane(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<PaneId> {
        variable(ITERM_SESSION).as_deref().map(session_id)
    }

    fn describe(&self, pane: &PaneId, _server: Option<&str>) -> String {
        format!("iterm2 {pane}")
    }

    async fn check(&self, facts: &TerminalFacts) -> Option<BackendCheck> {
        // Of interest only in iTerm2.
        facts.iterm_session.as_ref()?;
        let found = Self::answering(facts).await;
        Some(BackendCheck {
            program: "it2",
            found: found.map(|driver| driver.program.display().to_string()),
            remark: None,
        })
    }
}

#[async_trait]
impl BackendKind for Command {
    fn backend(&self) -> BackendType {
        BackendType::Command
    }

    async fn select(&self, wanted: &Selection<'_>) -> Result<SelectedBackend, PaneError> {
        let facts = wanted.facts;
        let driver = Self::driver(facts)?;
        let why = format!("{} opens the teammates' panes", driver.program.display());
        Ok((open(facts, driver), why))
    }

    fn backend_for_pane(
        &self,
        _socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        Ok(open(facts, Self::driver(facts)?))
    }

    async fn check(&self, facts: &TerminalFacts) -> Option<BackendCheck> {
        facts.pane_program.as_ref()?;
        let found = Self::driver(facts).map(|driver| driver.program.display().to_string());
        Some(BackendCheck {
            program: "pane program",
            found,
            remark: None,
        })
    }
}
