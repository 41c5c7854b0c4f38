//! From arguments to the command.

use std::process::ExitCode;

use crate::app::App;
use crate::args::Command;
use crate::failure::Failure;

use super::{
    demo, inbox, journal, pane, requests, run as run_command, send, spawn, status, stop, task, team,
};

/// Runs a command.
pub(crate) fn run(app: &App, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Team(command) => team::run(app, command),
        Command::Spawn(args) => spawn::run(app, &args),
        Command::Send(args) => send::run(app, &args),
        Command::Inbox(args) => inbox::run(app, &args),
        Command::Task(command) => task::run(app, command),
        Command::Status(args) => status::run(app, &args),
        Command::Shutdown(args) => stop::shutdown(app, args),
        Command::Kill(args) => stop::kill(app, &args),
        Command::Requests => requests::run(app),
        Command::Approve(args) => requests::approve(app, &args),
        Command::Deny(args) => requests::deny(app, args),
        Command::Attach(args) => pane::attach(app, &args),
        Command::Peek(args) => pane::peek(app, &args),
        Command::Logs(args) => pane::logs(app, &args),
        Command::Log(args) => journal::run(app, &args),
        Command::Run(args) => run_command::run(app, &args),
        Command::Demo(args) => demo::run(app, &args),
    }
}
