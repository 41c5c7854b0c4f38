//! `swarm team …`.

use clap::{Args, Subcommand};

/// What to do with teams.
#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Make a team: a roster with its lead, inboxes and a task list.
    Create(TeamCreateArgs),
    /// List the teams, and what each is at.
    List,
    /// Show a team's roster.
    Show {
        /// The team [default: the one that `--team` would mean].
        #[arg(value_name = "TEAM_NAME")]
        name: Option<String>,
    },
    /// Delete a team; its tasks and journal go to the archive.
    Delete(TeamDeleteArgs),
}

/// A team to be made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm team create parser --description \"The date parser\"")]
pub(crate) struct TeamCreateArgs {
    /// Its name: letters, digits, `_` and `-`, beginning with a letter or digit.
    pub(crate) name: String,
    /// What the team is for, for lists and for its members.
    #[arg(long)]
    pub(crate) description: Option<String>,
}

/// A team to be deleted.
#[derive(Debug, Args)]
#[command(after_help = "\
Refuses while members live, unless `--force` is given.

Examples:
  swarm team delete parser
  swarm team delete parser --force   end its members first")]
pub(crate) struct TeamDeleteArgs {
    /// The team [default: the one that `--team` would mean].
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: Option<String>,
    /// End its members first, whatever they are doing.
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep nothing: tasks and journal are not archived.
    #[arg(long)]
    pub(crate) purge: bool,
}
