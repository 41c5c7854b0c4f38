//! `swarm agents …`.

use clap::{Args, Subcommand, ValueEnum};
use swarm_policy::AgentKind;

/// What to do with definitions of agents.
#[derive(Debug, Subcommand)]
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
Invalid files are reported on stderr and skipped.

Examples:
  swarm agents list
  swarm agents list --json | jq -r '.[] | select(.counts) | .name'")]
pub(crate) struct AgentsListArgs {
    /// Additional definitions: {\"NAME\": {\"description\": …, \"prompt\": …}}.
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
    /// Agent type; case, `-` and `_` are ignored.
    #[arg(value_name = "TYPE")]
    pub(crate) name: String,
    /// Show the tools, model and mode that an agent of this type gets, and why others were removed.
    #[arg(long)]
    pub(crate) effective: bool,
    /// Role in which the agent is started.
    #[arg(long = "as", value_enum, default_value_t = Role::Teammate, requires = "effective")]
    pub(crate) role: Role,
    /// Model requested by the caller [default: none].
    #[arg(long, requires = "effective")]
    pub(crate) model: Option<String>,
    /// Permission mode requested by the caller [default: none].
    #[arg(long, requires = "effective")]
    pub(crate) mode: Option<swarm_protocol::PermissionMode>,
    /// Additional definitions: {\"NAME\": {\"description\": …, \"prompt\": …}}.
    #[arg(long, value_name = "JSON")]
    agents: Option<String>,
}

/// The kinds of agents that have definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Team member.
    Teammate,
    /// Sub-agent; the caller waits for it.
    SubAgent,
    /// Background agent; the caller continues.
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
