//! Arguments of `swarm hub` and their dispatch.

use std::process::ExitCode;

use super::start::{self, HubStartArgs};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::failure::Result;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum HubCommand {
    /// Run a hub in this terminal, to try teams on several machines.
    Start(HubStartArgs),
}

pub(in crate::commands) fn run(app: &App, command: &HubCommand) -> Result<ExitCode> {
    match command {
        HubCommand::Start(args) => {
            require_person(app, "hub start")?;
            start::run(app, args)
        }
    }
}
