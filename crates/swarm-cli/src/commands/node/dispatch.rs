//! Arguments of `swarm node` and their dispatch.

use std::process::ExitCode;

use super::drain::{self, NodeDrainArgs};
use super::join::{self, NodeJoinArgs};
use super::list::{self, NodeListArgs};
use crate::app::App;
use crate::commands::acting::{require_no_agent, require_person};
use crate::failure::Result;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum NodeCommand {
    /// Run members of a hub's teams on this machine.
    Join(NodeJoinArgs),
    /// List the nodes of a hub.
    List(NodeListArgs),
    /// Let a node finish its members and take no more.
    Drain(NodeDrainArgs),
}

pub(in crate::commands) fn run(app: &App, command: &NodeCommand) -> Result<ExitCode> {
    match command {
        NodeCommand::Join(args) => {
            require_no_agent(app, "node join")?;
            join::run(app, args)
        }
        NodeCommand::List(args) => list::run(app, args),
        NodeCommand::Drain(args) => {
            require_person(app, "node drain")?;
            drain::run(app, args)
        }
    }
}
