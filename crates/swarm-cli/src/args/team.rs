//! `swarm team …`.

use clap::{Args, Subcommand};

/// What to do with teams.
#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Create a team.
    Create(TeamCreateArgs),
    /// List teams and their state.
    List,
    /// Show a team and its members.
    Show {
        /// Team [default: as for `--team`].
        #[arg(value_name = "TEAM_NAME")]
        name: Option<String>,
    },
    /// Delete a team and archive its tasks and journal.
    Delete(TeamDeleteArgs),
}

/// A team to be made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm team create parser --description \"The date parser\"")]
pub(crate) struct TeamCreateArgs {
    /// Name: letters, digits, `_` and `-`, starting with a letter or digit.
    pub(crate) name: String,
    /// Purpose of the team, shown in lists and to members.
    #[arg(long)]
    pub(crate) description: Option<String>,
}

/// A team to be deleted.
#[derive(Debug, Args)]
#[command(after_help = "\
Fails while members are running, unless `--force` is given.

Examples:
  swarm team delete parser
  swarm team delete parser --force   stop its members first")]
pub(crate) struct TeamDeleteArgs {
    /// Team [default: as for `--team`].
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: Option<String>,
    /// Stop running members first, without asking them.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not archive tasks and journal.
    #[arg(long)]
    pub(crate) purge: bool,
}
