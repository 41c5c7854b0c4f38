//! From arguments to the command.

use std::process::ExitCode;

use crate::app::App;
use crate::args::Command;
use crate::failure::Failure;

use super::{demo, run as run_command, spawn, team};

/// Runs a command.
pub(crate) fn run(app: &App, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Team(command) => team::run(app, command),
        Command::Spawn(args) => spawn::run(app, args),
        Command::Run(args) => run_command::run(app, args),
        Command::Demo(args) => demo::run(app, &args),
    }
}
