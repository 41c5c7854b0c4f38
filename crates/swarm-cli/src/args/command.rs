//! The command line as a whole.

use clap::{Args as ClapArgs, Parser, Subcommand};

use super::overview::overview;
use super::{
    AgentsCommand, ApproveArgs, AttachArgs, CompletionsArgs, ConfigCommand, ContinueArgs, DemoArgs,
    DenyArgs, GcArgs, InboxArgs, InstructionsArgs, KillArgs, LogArgs, LogsArgs, ManArgs, PauseArgs,
    PeekArgs, PermissionsArgs, ReapArgs, ResumeArgs, RunArgs, SendArgs, ShutdownArgs, SpawnArgs,
    StatusArgs, TaskCommand, TeamCommand, TrustArgs, WorktreeCommand,
};

/// Run a team of coding agents in tmux panes.
#[derive(Debug, Parser)]
#[command(
    name = "swarm",
    version,
    max_term_width = 100,
    disable_help_flag = true,
    help_template = overview(),
    after_help = "\
Examples:
  swarm demo                                      watch a team work
  swarm run \"Find out why the import is slow\"     let a team work on a task
  swarm spawn alice --prompt \"Explain src/date\"   start a teammate
  swarm status --watch                            watch all members"
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
    /// Team to use [default: `SWARM_TEAM`, else the newest team of this repository or directory, else the newest team].
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// Print JSON, including errors.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print only data, errors and warnings about disabled safeguards.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Write a log file to `swarm/logs` in the config directory.
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print help.
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a team lead on a prompt until the work is done.
    Run(RunArgs),
    /// Create, list, show and delete teams.
    #[command(subcommand)]
    Team(TeamCommand),
    /// Start a teammate, or restart one with its conversation.
    Spawn(SpawnArgs),
    /// Send a message to one member or all members.
    Send(SendArgs),
    /// Show a member's messages.
    Inbox(InboxArgs),
    /// Create, list, update, claim and release tasks.
    #[command(subcommand)]
    Task(TaskCommand),
    /// List, merge and remove git worktrees.
    #[command(subcommand)]
    Worktree(WorktreeCommand),
    /// Show members, tasks and pending requests.
    Status(StatusArgs),
    /// Show a member's pane in this terminal.
    Attach(AttachArgs),
    /// Print the last lines of a member's pane.
    Peek(PeekArgs),
    /// Print a member's output.
    Logs(LogsArgs),
    /// Print the journal of messages, task changes, spawns and stops.
    Log(LogArgs),
    /// Pause a member after its current turn.
    Pause(PauseArgs),
    /// Resume a paused member.
    Continue(ContinueArgs),
    /// Shut members down; terminate those that do not respond.
    Shutdown(ShutdownArgs),
    /// Terminate members and their processes immediately.
    Kill(KillArgs),
    /// List pending requests.
    #[command(after_help = "\
Examples:
  swarm requests --team parser
  swarm requests --json | jq -r '.[].id'")]
    Requests,
    /// Approve a request.
    Approve(ApproveArgs),
    /// Deny a request.
    Deny(DenyArgs),
    /// Show a member's permission rules and their sources.
    Permissions(PermissionsArgs),
    /// Take over a team that lost its lead.
    Resume(ResumeArgs),
    /// List swarm's processes and mark orphaned ones.
    #[command(after_help = "\
A process is orphaned when its team is gone or no longer lists it. `swarm reap` terminates orphaned processes.

Examples:
  swarm ps
  swarm ps --json | jq -r '.[].pid'")]
    Ps,
    /// Terminate orphaned processes.
    Reap(ReapArgs),
    /// Remove what crashed processes left behind.
    Gc(GcArgs),
    /// Watch a demo team at work; needs no key and no network.
    Demo(DemoArgs),
    /// Check the installation and suggest fixes.
    #[command(after_help = "Exits with 0 if all requirements are met, with 7 otherwise.")]
    Doctor,
    /// List and show agent definitions.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List the instruction files that agents read.
    Instructions(InstructionsArgs),
    /// Trust a repository's hooks, servers and definitions.
    Trust(TrustArgs),
    /// Show the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Generate shell completions.
    Completions(CompletionsArgs),
    /// Print or install manual pages.
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
