//! Arguments of `swarm agents` and their dispatch.

use super::effective::AgentsShowArgs;
use super::list::AgentsListArgs;
use super::{list, show};
use crate::app::App;
use crate::failure::Result;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
#[command(after_help = "\
A definition is a Markdown file with YAML frontmatter in `.claude/agents` of the repository or in `agents` of the \
config directory. Its text is the agent's system prompt.

Examples:
  swarm agents list
  swarm agents show Explore --effective")]
pub(crate) enum AgentsCommand {
    /// List agent types, their sources, and which definition of a name is used.
    List(AgentsListArgs),
    /// Show an agent type as defined, or its effective configuration.
    Show(AgentsShowArgs),
}

impl AgentsCommand {
    /// Returns the value of `--agents`.
    pub(in crate::commands) fn given(&self) -> Option<&str> {
        match self {
            Self::List(args) => args.agents.as_deref(),
            Self::Show(args) => args.agents.as_deref(),
        }
    }
}

pub(in crate::commands) fn run(app: &App, command: &AgentsCommand) -> Result<()> {
    match command {
        AgentsCommand::List(_) => list::run(app),
        AgentsCommand::Show(args) => show::run(app, args),
    }
}
