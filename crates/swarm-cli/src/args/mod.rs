//! The arguments as they are typed.

mod run;
mod spawn;
mod team;

use clap::{Args as ClapArgs, Parser, Subcommand};

pub(crate) use run::{OutputFormat, RunArgs};
pub(crate) use spawn::SpawnArgs;
pub(crate) use team::TeamCommand;

/// A team of coding agents at work in tmux panes.
#[derive(Debug, Parser)]
#[command(name = "swarm", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, ClapArgs)]
pub(crate) struct GlobalArgs {
    /// The team to act on; without it SWARM_TEAM, or the only team there is.
    #[arg(long, global = true, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print less.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Log more, into a file below the root folder.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
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
    /// Let a headless team lead work on a prompt.
    Run(RunArgs),
}
