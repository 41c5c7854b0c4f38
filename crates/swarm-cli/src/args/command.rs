//! The command line as a whole.

use clap::{Args as ClapArgs, Parser, Subcommand};

use super::{
    ApproveArgs, AttachArgs, DemoArgs, DenyArgs, InboxArgs, KillArgs, LogArgs, LogsArgs, PeekArgs,
    RunArgs, SendArgs, ShutdownArgs, SpawnArgs, StatusArgs, TaskCommand, TeamCommand,
};

/// A team of coding agents at work in tmux panes.
#[derive(Debug, Parser)]
#[command(name = "swarm", version, max_term_width = 100)]
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
    /// The team to act on; without it `SWARM_TEAM`, or the only team there is.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// Print JSON.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print less.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Log more, into a file below the root folder.
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make, list, show or delete teams.
    #[command(subcommand)]
    Team(TeamCommand),
    /// Start a teammate.
    Spawn(SpawnArgs),
    /// Send a message.
    Send(SendArgs),
    /// Show an inbox; looking acknowledges nothing.
    Inbox(InboxArgs),
    /// Make, list, change, take or give back tasks.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Show who does what, the tasks, and who waits for an answer.
    Status(StatusArgs),
    /// Ask members to stop, and end those that say nothing.
    Shutdown(ShutdownArgs),
    /// End members now, with everything that they started.
    Kill(KillArgs),
    /// List the requests that wait for an answer.
    Requests,
    /// Answer a request with yes.
    Approve(ApproveArgs),
    /// Answer a request with no.
    Deny(DenyArgs),
    /// Bring the pane of a member to this terminal.
    Attach(AttachArgs),
    /// Print the last lines of a member's pane.
    Peek(PeekArgs),
    /// Print everything that a member has printed.
    Logs(LogsArgs),
    /// Print the journal: messages, task changes, spawns, stops.
    Log(LogArgs),
    /// Let a headless team lead work on a prompt.
    Run(RunArgs),
    /// Watch a whole team at work in a throw-away folder: no key, no network.
    Demo(DemoArgs),
}

impl Command {
    /// Whether it ends what runs and starts nothing: such a command must not fail for a mistake in the settings.
    pub(crate) fn only_stops(&self) -> bool {
        matches!(
            self,
            Self::Shutdown(_) | Self::Kill(_) | Self::Team(TeamCommand::Delete(_))
        )
    }
}
