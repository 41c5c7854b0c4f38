//! The command line as a whole.

use clap::{Args as ClapArgs, Parser, Subcommand};

use super::overview::overview;
use super::{
    AgentsCommand, ApproveArgs, AttachArgs, CompletionsArgs, ConfigCommand, ContinueArgs, DemoArgs,
    DenyArgs, GcArgs, InboxArgs, InstructionsArgs, KillArgs, LogArgs, LogsArgs, ManArgs, PauseArgs,
    PeekArgs, PermissionsArgs, ReapArgs, ResumeArgs, RunArgs, SendArgs, ShutdownArgs, SpawnArgs,
    StatusArgs, TaskCommand, TeamCommand, TrustArgs, WorktreeCommand,
};

/// A team of coding agents at work in tmux panes.
#[derive(Debug, Parser)]
#[command(
    name = "swarm",
    version,
    max_term_width = 100,
    disable_help_flag = true,
    help_template = overview(),
    after_help = "\
Examples:
  swarm demo                                      watch a team at work
  swarm run \"Find out why the import is slow\"     let a team work on something
  swarm spawn alice --prompt \"Explain src/date\"   start a teammate by hand
  swarm status --watch                            see what everybody does"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Heading of the flags that every command has.
const GLOBAL: &str = "Global options";

/// Flags of every command.
#[derive(Debug, ClapArgs)]
pub(crate) struct GlobalArgs {
    /// The team to act on [default: `SWARM_TEAM`, else the newest team that works in this repository or directory, else the newest].
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// Print JSON, errors as well.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print data, errors and which guards are off.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Write a log into `swarm/logs` below the root folder.
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print this help.
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Let a team lead work on a prompt until everything is done.
    Run(RunArgs),
    /// Make, list, show and delete teams.
    #[command(subcommand)]
    Team(TeamCommand),
    /// Start a teammate, or bring one back.
    Spawn(SpawnArgs),
    /// Send a message to one member or to all.
    Send(SendArgs),
    /// Show the messages of a member.
    Inbox(InboxArgs),
    /// Make, list, change, claim and release tasks.
    #[command(subcommand)]
    Task(TaskCommand),
    /// List, merge and remove isolated git work trees.
    #[command(subcommand)]
    Worktree(WorktreeCommand),
    /// Show who does what, the tasks, and who waits for an answer.
    Status(StatusArgs),
    /// Bring a member's pane to this terminal.
    Attach(AttachArgs),
    /// Print the last lines of a member's pane.
    Peek(PeekArgs),
    /// Print everything that a member has printed.
    Logs(LogsArgs),
    /// Print the journal: messages, task changes, spawns, stops.
    Log(LogArgs),
    /// Let a member take no turn after its present one.
    Pause(PauseArgs),
    /// Let a paused member go on.
    Continue(ContinueArgs),
    /// Ask members to stop, and end those that say nothing.
    Shutdown(ShutdownArgs),
    /// End members now, with everything that they started.
    Kill(KillArgs),
    /// List the requests that wait for an answer.
    #[command(after_help = "\
Examples:
  swarm requests --team parser
  swarm requests --json | jq -r '.[].id'")]
    Requests,
    /// Answer a request with yes.
    Approve(ApproveArgs),
    /// Answer a request with no.
    Deny(DenyArgs),
    /// Show a member's permission rules, and where each comes from.
    Permissions(PermissionsArgs),
    /// Take over a team whose lead was lost.
    Resume(ResumeArgs),
    /// List every process of swarm, and tell which are strays.
    #[command(after_help = "\
A stray is a process whose team is gone, or that has no place in it any more. `swarm reap` ends strays.

Examples:
  swarm ps
  swarm ps --json | jq -r '.[].pid'")]
    Ps,
    /// End strays: processes that belong to no team any more.
    Reap(ReapArgs),
    /// Clear away what crashes have left behind.
    Gc(GcArgs),
    /// Watch a team at work in a throw-away folder: no key, no network.
    Demo(DemoArgs),
    /// Check what swarm needs, and say what to do where it is missing.
    #[command(
        after_help = "Ends with 0 when everything that is needed is there, with 7 otherwise."
    )]
    Doctor,
    /// List definitions of agents, and show what they come to.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List the instruction files that agents read.
    Instructions(InstructionsArgs),
    /// Let a repository run its own hooks and servers.
    Trust(TrustArgs),
    /// Show the settings in force.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a script that teaches a shell to complete what you type.
    Completions(CompletionsArgs),
    /// Print the manual pages.
    Man(ManArgs),
}

impl Command {
    /// Definitions of agents that stand on the command line.
    pub(crate) fn agents(&self) -> Option<&str> {
        match self {
            Self::Run(args) => args.agents.as_deref(),
            Self::Spawn(args) => args.agents.as_deref(),
            Self::Agents(command) => command.given(),
            _ => None,
        }
    }

    /// Whether it trusts the present repository for as long as it runs.
    pub(crate) fn trusts(&self) -> bool {
        match self {
            Self::Run(args) => args.trust,
            Self::Spawn(args) => args.trust,
            Self::Resume(args) => args.trust,
            _ => false,
        }
    }

    /// The MCP servers that its flags name.
    pub(crate) fn mcp_config(&self) -> &[String] {
        match self {
            Self::Run(args) => &args.mcp_config,
            Self::Spawn(args) => &args.mcp_config,
            Self::Resume(args) => &args.mcp_config,
            _ => &[],
        }
    }

    /// Whether it ends what runs and starts nothing: such a command must not fail for a mistake in the settings.
    pub(crate) fn only_stops(&self) -> bool {
        matches!(
            self,
            Self::Shutdown(_)
                | Self::Kill(_)
                | Self::Team(TeamCommand::Delete(_))
                | Self::Pause(_)
                | Self::Ps
                | Self::Reap(_)
                | Self::Gc(_)
        )
    }
}
