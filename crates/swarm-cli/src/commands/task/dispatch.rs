//! From arguments to the command.

use std::process::ExitCode;

use super::{claim, create, list, remove, show, update};
use crate::app::App;
use crate::args::TaskCommand;
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App, command: TaskCommand) -> Result<ExitCode, Failure> {
    match command {
        TaskCommand::Create(args) => create::run(app, args),
        TaskCommand::List(args) => list::run(app, &args),
        TaskCommand::Show { id } => show::run(app, id),
        TaskCommand::Update(args) => update::run(app, *args),
        TaskCommand::Claim(args) => claim::claim(app, &args),
        TaskCommand::Release { id } => claim::release(app, id),
        TaskCommand::Delete { id } => remove::run(app, id),
    }
}
