//! Arguments of `swarm team` and their dispatch.

use swarm_protocol::MemberName;

use super::create::{TeamCreateArgs, TeamJoinArgs};
use super::delete::TeamDeleteArgs;
use super::down::TeamDownArgs;
use super::external::TeamAddArgs;
use super::list::TeamListArgs;
use super::up::TeamUpArgs;
use super::{create, delete, down, external, list, show, up};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::failure::Result;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum TeamCommand {
    /// Create a team.
    Create(TeamCreateArgs),
    /// Connect this machine to a team that was created on a hub.
    Join(TeamJoinArgs),
    /// Start the team of a template: its members and tasks.
    Up(TeamUpArgs),
    /// Shut down the team of a template and delete it.
    Down(TeamDownArgs),
    /// List teams and their state.
    List(TeamListArgs),
    /// Show a team and its members.
    Show {
        /// Team [default: as for `--team`].
        #[arg(value_name = "TEAM_NAME")]
        name: Option<String>,
    },
    /// Add a member that another program runs.
    Add(TeamAddArgs),
    /// Remove a member that another program ran from the roster, and release its tasks.
    #[command(after_help = "\
Examples:
  swarm team remove carl")]
    Remove {
        /// Member.
        name: MemberName,
    },
    /// Delete a team and archive its tasks and journal.
    #[command(alias = "rm")]
    Delete(TeamDeleteArgs),
}

pub(in crate::commands) fn run(app: &App, command: TeamCommand) -> Result<()> {
    match command {
        TeamCommand::Create(args) => {
            require_person(app, "team create")?;
            create::run(app, args)
        }
        TeamCommand::Join(args) => {
            require_person(app, "team join")?;
            create::join(app, &args)
        }
        TeamCommand::Up(args) => up::run(app, &args),
        TeamCommand::Down(args) => down::run(app, &args),
        TeamCommand::List(_) => list::run(app),
        TeamCommand::Show { name } => show::run(app, name.as_deref()),
        TeamCommand::Add(args) => {
            require_person(app, "team add")?;
            external::add(app, &args)
        }
        TeamCommand::Remove { name } => {
            require_person(app, "team remove")?;
            external::remove(app, &name)
        }
        TeamCommand::Delete(args) => {
            require_person(app, "team delete")?;
            delete::run(app, &args)
        }
    }
}
