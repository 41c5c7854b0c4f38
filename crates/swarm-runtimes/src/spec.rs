//! An agent program and what it is started with.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::{AgentError, Turn, TurnStop};
use swarm_protocol::{Usage, partial_debug};
use swarm_tools::Tool;

use crate::handed_server::{TEAM_SERVER, server_names};
use crate::relay::MCP_RELAY;
use crate::{ProgramAccounts, StateDirectory};

/// An agent program and what it is started with.
#[derive(Clone)]
pub struct ProgramSpec {
    /// The program as a person named it.
    pub name: String,
    /// Path of the program, then its arguments.
    pub argv: Vec<String>,
    /// Additional environment variables, such as its keys.
    pub env: BTreeMap<String, String>,
    /// A key that the program reads from a pipe, so that it is in no environment.
    pub key: Option<String>,
    /// swarm, which offers the team's tools.
    pub swarm: PathBuf,
    /// Its own directories, as far as they are known.
    pub state: Vec<StateDirectory>,
    /// Where its use of the model is recorded; `None` if it is not.
    pub accounts: Option<ProgramAccounts>,
    /// The first text of a new conversation: who the agent is and what its team expects.
    pub introduction: String,
}

/// An MCP server that a program starts.
#[derive(Debug)]
pub(crate) struct ServerCommand {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

// Omits the environment, which may hold keys.
partial_debug!(ProgramSpec: name, argv);

impl ProgramSpec {
    /// Returns the MCP servers of a member with these tools, as they are passed to the program:
    /// that of the team's tools, then its own.
    pub(crate) fn servers(&self, tools: &[Arc<dyn Tool>]) -> Vec<ServerCommand> {
        let command = |name: &str, more: Option<&str>| ServerCommand {
            name: name.to_owned(),
            command: self.swarm.display().to_string(),
            args: [MCP_RELAY]
                .into_iter()
                .chain(more)
                .map(str::to_owned)
                .collect(),
        };
        let own = server_names(tools);
        let own = own.iter().map(|name| command(name, Some(name)));
        std::iter::once(command(TEAM_SERVER, None))
            .chain(own)
            .collect()
    }

    /// Waits while a budget is used up.
    pub(crate) async fn admitted(&self, turn: &Turn<'_>) -> Result<(), TurnStop> {
        match &self.accounts {
            Some(accounts) => accounts.admitted(turn).await,
            None => Ok(()),
        }
    }

    /// Returns why a budget in money has no effect.
    pub(crate) async fn unpriced(&self) -> Option<String> {
        self.accounts.as_ref()?.unpriced().await
    }

    /// Records what a prompt has used. `model` is the full name of the model, if the program says
    /// it.
    pub(crate) async fn record(&self, turn: &Turn<'_>, model: Option<&str>, usage: Usage) {
        if let Some(accounts) = &self.accounts {
            accounts.record(turn, model, usage).await;
        }
    }

    pub(crate) fn failed(&self, why: &dyn fmt::Display) -> AgentError {
        AgentError::Runtime(format!("{}: {why}", self.name))
    }
}
