//! The program `swarm`: arguments, the command, its exit code.

use std::process::ExitCode;

use clap::Parser as _;

use crate::app::App;
use crate::args::Args;
use crate::commands;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::say;
use crate::{logging, output};

/// Runs `swarm` and returns its exit code.
pub fn main_impl() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are data and go to stdout; clap knows which is which.
            drop(error.print());
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let json = args.global.json;
    match run(args) {
        Ok(code) => code,
        Err(failure) => {
            report(&failure, json);
            ExitCode::from(failure.kind.exit_code().0)
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Failure> {
    let env = Environment::read()?;
    let app = App::new(env, &args.global)?;
    let filter = app
        .env
        .get("SWARM_LOG")
        .or((args.global.verbose > 0).then_some("swarm=debug"));
    logging::start(filter, &app.root, "swarm");
    commands::run(&app, args.command)
}

fn report(failure: &Failure, json: bool) {
    if json {
        say(&failure.to_json().to_string());
        return;
    }
    say(&format!("swarm: {}", output::plain(&failure.message)));
    if let Some(hint) = &failure.hint {
        say(&format!("  {}", output::plain(hint)));
    }
}
