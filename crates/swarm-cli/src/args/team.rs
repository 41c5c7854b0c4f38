//! `swarm team …`.

use clap::{Args, Subcommand};

/// What to do with teams.
#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Make a team: a roster with its lead, inboxes and a task list.
    Create(TeamCreateArgs),
    /// List the teams with what each is at.
    List,
    /// Show a team's roster.
    Show {
        /// The team; without it the one that `--team` would mean.
        #[arg(value_name = "TEAM_NAME")]
        name: Option<String>,
    },
    /// Delete a team; its tasks and journal move to an archive.
    Delete(TeamDeleteArgs),
}

/// A team to be made.
#[derive(Debug, Args)]
pub(crate) struct TeamCreateArgs {
    /// Its name: letters, digits, `_` and `-`, beginning with a letter or digit.
    pub(crate) name: String,
    /// What the team is for.
    #[arg(long)]
    pub(crate) description: Option<String>,
}

/// A team to be deleted.
#[derive(Debug, Args)]
pub(crate) struct TeamDeleteArgs {
    /// The team; without it the one that `--team` would mean.
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: Option<String>,
    /// End its members first, whatever they are doing.
    #[arg(long)]
    pub(crate) force: bool,
    /// Drop tasks and journal instead of keeping them in an archive.
    #[arg(long)]
    pub(crate) purge: bool,
}
