//! `swarm team …`.

use clap::Subcommand;

/// What to do with teams.
#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Make a team: a roster with its lead, inboxes and a task list.
    Create {
        /// Letters, digits, `_` and `-`.
        name: String,
        /// What the team is for.
        #[arg(long)]
        description: Option<String>,
    },
    /// List the teams.
    List,
    /// Show a team's roster.
    Show {
        /// The team.
        name: Option<String>,
    },
    /// Delete a team; its tasks and journal are archived.
    Delete {
        /// The team.
        name: Option<String>,
        /// End its members first.
        #[arg(long)]
        force: bool,
        /// Drop tasks and journal instead of archiving them.
        #[arg(long)]
        purge: bool,
    },
}
