//! Runs a command that was typed into a terminal of this process.

use std::ffi::OsString;

use clap::Parser as _;
use swarm_protocol::TeamName;

use crate::app::App;
use crate::commands::argument_tips;
use crate::commands::command::Args;
use crate::entry::written_out;
use crate::environment;
use crate::failure::Failure;
use crate::identity::Acting;
use crate::output::captured;

/// Parses a command without `swarm`. The error is the text to show.
pub(super) fn parse_command(words: &str) -> Result<Args, String> {
    let Some(words) = shlex::split(words) else {
        return Err(format!("unclosed quotation mark: {words}"));
    };
    if words.iter().any(|word| word == "-") {
        return Err("`-` would read this terminal; write the text into the command".to_owned());
    }
    let words = std::iter::once("swarm".to_owned()).chain(words);
    let words = written_out(words.map(OsString::from).collect(), false);
    Args::try_parse_from(&words).map_err(|error| {
        let error = argument_tips::with_tip(error, words.into_iter());
        error.render().to_string()
    })
}

/// Runs a command on behalf of `acting`, in a team unless it names another one. Returns its output.
pub(super) fn run_command(
    mut args: Args,
    team: impl FnOnce() -> TeamName,
    acting: &Acting,
) -> (Result<(), Failure>, String) {
    captured(|| {
        args.global.team.get_or_insert_with(|| team().to_string());
        let env = environment::read()?;
        let mut app = App::new(env, &args.global, &args.command.flags())?;
        app.acting = Some(acting.clone());
        args.command.run(&app).map(drop)
    })
}
