//! From arguments to the command.

use std::process::ExitCode;

use swarm_config::Environment;

use crate::app::App;
use crate::args::Command;
use crate::failure::Failure;
use crate::output::Output;

use super::{
    agents, completions, config, demo, doctor, gc, inbox, instructions, journal, man, pane, pause,
    processes, requests, resume, run as run_command, send, spawn, status, stop, task, team, trust,
    worktree,
};

/// Runs a command that must work whatever is wrong with settings and teams; `None` for any other.
pub(crate) fn run_alone(
    env: &Environment,
    out: Output,
    command: &Command,
) -> Option<Result<ExitCode, Failure>> {
    match command {
        Command::Completions(args) => Some(completions::run(env, out, args)),
        Command::Man(args) => Some(man::run(env, out, args)),
        Command::Doctor => Some(doctor::run(env, out)),
        _ => None,
    }
}

/// Runs a command.
pub(crate) fn run(app: &App, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Team(command) => team::run(app, command),
        Command::Spawn(args) => spawn::run(app, &args),
        Command::Send(args) => send::run(app, &args),
        Command::Inbox(args) => inbox::run(app, &args),
        Command::Task(command) => task::run(app, command),
        Command::Worktree(command) => worktree::run(app, &command),
        Command::Status(args) => status::run(app, &args),
        Command::Shutdown(args) => stop::shutdown(app, args),
        Command::Kill(args) => stop::kill(app, &args),
        Command::Pause(args) => pause::pause(app, args),
        Command::Continue(args) => pause::go_on(app, &args),
        Command::Requests => requests::run(app),
        Command::Approve(args) => requests::approve(app, &args),
        Command::Deny(args) => requests::deny(app, args),
        Command::Permissions(args) => requests::permissions(app, &args),
        Command::Attach(args) => pane::attach(app, &args),
        Command::Peek(args) => pane::peek(app, &args),
        Command::Logs(args) => pane::logs(app, &args),
        Command::Log(args) => journal::run(app, &args),
        Command::Run(args) => run_command::run(app, &args),
        Command::Resume(args) => resume::run(app, &args),
        Command::Ps => processes::ps(app),
        Command::Reap(args) => processes::reap(app, &args),
        Command::Gc(args) => gc::run(app, &args),
        Command::Config(command) => config::run(app, &command),
        Command::Agents(command) => agents::run(app, &command),
        Command::Instructions(args) => instructions::run(app, &args),
        Command::Trust(args) => trust::run(app, &args),
        Command::Demo(args) => demo::run(app, &args),
        Command::Completions(args) => completions::run(&app.env, app.out, &args),
        Command::Man(args) => man::run(&app.env, app.out, &args),
        Command::Doctor => doctor::run(&app.env, app.out),
    }
}
