//! `swarm agents …`.

use clap::{Args, Subcommand, ValueEnum};
use swarm_policy::AgentKind;

/// What to do with definitions of agents.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A definition is a Markdown file with YAML before its text, in `.claude/agents` of the repository or in `agents` below \
the root folder. Its text is the agent's system prompt.

Examples:
  swarm agents list
  swarm agents show Explore --effective")]
pub(crate) enum AgentsCommand {
    /// List all types, where each comes from, and which definition of a name counts.
    List(AgentsListArgs),
    /// Show one type, as it is written or as it comes out.
    Show(AgentsShowArgs),
}

impl AgentsCommand {
    /// What `--agents` says.
    pub(super) fn given(&self) -> Option<&str> {
        match self {
            Self::List(args) => args.agents.as_deref(),
            Self::Show(args) => args.agents.as_deref(),
        }
    }
}

/// Definitions to be listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Files that are wrong are named on stderr; the other definitions count.

Examples:
  swarm agents list
  swarm agents list --json | jq -r '.[] | select(.counts) | .name'")]
pub(crate) struct AgentsListArgs {
    /// Further definitions: {\"NAME\": {\"description\": …, \"prompt\": …}}.
    #[arg(long, value_name = "JSON")]
    agents: Option<String>,
}

/// A definition to be shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm agents show reviewer
  swarm agents show reviewer --effective
  swarm agents show reviewer --effective --as background --mode plan")]
pub(crate) struct AgentsShowArgs {
    /// The type; letter case, `-` and `_` do not matter.
    #[arg(value_name = "TYPE")]
    pub(crate) name: String,
    /// Show what an agent of this type gets, and what each filter layer took away and why.
    #[arg(long)]
    pub(crate) effective: bool,
    /// What it is to whoever starts it.
    #[arg(long = "as", value_enum, default_value_t = Role::Teammate, requires = "effective")]
    pub(crate) role: Role,
    /// The model that the call asks for [default: none].
    #[arg(long, requires = "effective")]
    pub(crate) model: Option<String>,
    /// The permission mode that the call asks for [default: none].
    #[arg(long, requires = "effective")]
    pub(crate) mode: Option<swarm_protocol::PermissionMode>,
    /// Further definitions: {\"NAME\": {\"description\": …, \"prompt\": …}}.
    #[arg(long, value_name = "JSON")]
    agents: Option<String>,
}

/// The kinds of agents that have definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// A member of a team.
    Teammate,
    /// An agent that its caller waits for.
    SubAgent,
    /// An agent that works while its caller goes on.
    Background,
}

impl Role {
    /// The kind.
    pub(crate) fn kind(self) -> AgentKind {
        match self {
            Self::Teammate => AgentKind::TeammateProcess,
            Self::SubAgent => AgentKind::SubAgent,
            Self::Background => AgentKind::Background,
        }
    }
}
