//! `swarm task …`.

mod claim;
mod create;
mod list;
mod record;
mod remove;
mod show;
mod tell;
mod update;

use std::process::ExitCode;

use crate::app::App;
use crate::args::TaskCommand;
use crate::failure::Failure;

pub(super) use record::{record, table};

pub(super) fn run(app: &App, command: TaskCommand) -> Result<ExitCode, Failure> {
    match command {
        TaskCommand::Create(args) => create::run(app, args),
        TaskCommand::List => list::run(app),
        TaskCommand::Show { id } => show::run(app, id),
        TaskCommand::Update(args) => update::run(app, *args),
        TaskCommand::Claim(args) => claim::claim(app, &args),
        TaskCommand::Release { id } => claim::release(app, id),
        TaskCommand::Delete { id } => remove::run(app, id),
    }
}
