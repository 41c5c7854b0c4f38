//! From arguments to the command.

use std::process::ExitCode;

use super::{list, show};
use crate::app::App;
use crate::args::AgentsCommand;
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App, command: &AgentsCommand) -> Result<ExitCode, Failure> {
    match command {
        AgentsCommand::List(_) => list::run(app),
        AgentsCommand::Show(args) => show::run(app, args),
    }
}
