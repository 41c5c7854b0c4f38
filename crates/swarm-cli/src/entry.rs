//! Entry point of `swarm`: arguments, command and exit code.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue};

use crate::alternative_role::run_alternative_role;
use crate::app::App;
use crate::commands::{Args, TypedCommands, answer_shell, with_tip};
use crate::environment;
use crate::failure::{Failure, Result, exit_code};
use crate::ordered::end_with_node;
use crate::output::{Output, failure_text, say, say_json, say_raw, written};
use crate::own_process::VERSION;
use crate::short_forms::{parse, written_out};
use crate::{logging, output, team_hooks};

/// Runs `swarm` and returns its exit code.
pub fn main_impl() -> ExitCode {
    if asks_for_version(std::env::args_os().skip(1)) {
        return print_version();
    }
    if let Some(done) = run_alternative_role() {
        return done;
    }
    if let Some(answered) = answer_shell(Args::with_all_arguments) {
        return answered;
    }
    end_with_node();
    let has_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let words = written_out(std::env::args_os().collect(), has_terminal);
    let args = match parse(&words) {
        Ok(args) => args,
        Err(error) => return print_parse_error(&with_tip(error, words.into_iter())),
    };
    let json = args.global.json;
    run(args).unwrap_or_else(|failure| report(&failure, json))
}

/// Returns whether only the version is requested. Scripts request it often, and building all
/// argument definitions takes longer than the answer.
fn asks_for_version(mut words: impl Iterator<Item = OsString>) -> bool {
    let first = words.next();
    first.is_some_and(|word| word == "--version" || word == "-V") && words.next().is_none()
}

fn version_line() -> String {
    format!("swarm {VERSION}\n")
}

fn print_version() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(version_line().as_bytes());
    let printed = written(printed.and_then(|()| out.flush()));
    printed.map_or_else(|failure| report(&failure, false), |()| ExitCode::SUCCESS)
}

/// Prints help, the version or an argument error.
fn print_parse_error(error: &clap::Error) -> ExitCode {
    let asks_for_json = std::env::args_os().any(|word| word == "--json");
    if error.use_stderr() && asks_for_json {
        say_json(&Failure::from_arguments(&rendered(error)).to_json());
    } else if let Err(failure) = show(error) {
        return report(&failure, asks_for_json);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Help and version go to stdout; clap distinguishes them.
fn show(error: &clap::Error) -> Result<()> {
    let shown = output::plain(&rendered(error));
    if shown != error.render().to_string() {
        say_raw(shown.trim_end());
        return Ok(());
    }
    let printed = error.print();
    // A closed stderr leaves no way to report the error.
    if error.use_stderr() {
        return Ok(());
    }
    written(printed.and_then(|()| std::io::stdout().flush()))
}

/// Returns clap's message with escaped arguments: it repeats them as typed, and a newline in one
/// would start a new line.
fn rendered(error: &clap::Error) -> String {
    let mut text = error.render().to_string();
    for (kind, value) in error.context() {
        let typed = matches!(
            kind,
            ContextKind::InvalidArg | ContextKind::InvalidValue | ContextKind::InvalidSubcommand
        );
        if let (true, ContextValue::String(typed)) = (typed, value)
            && typed.contains(char::is_control)
        {
            // Only newlines in quoted arguments are escaped.
            text = text.replace(
                &format!("'{typed}'"),
                &format!("'{}'", typed.escape_debug()),
            );
        }
    }
    text
}

fn run(args: Args) -> Result<ExitCode> {
    let env = environment::read().map_err(|error| Failure::of_directory(&error))?;
    let out = Output::new(&env, &args.global);
    if let Some(done) = args.command.run_alone(&env, out) {
        return done;
    }
    let flags = args.command.flags();
    let app = App::new(env, &args.global, &flags, Arc::new(TypedCommands))?;
    let filter = app
        .env
        .get("SWARM_LOG")
        .or((args.global.verbose > 0).then_some("swarm=debug"));
    logging::start(filter, &app.root, "swarm");
    let done = args.command.run(&app);
    team_hooks::settle(&app);
    done
}

/// Prints an error and returns its exit code.
fn report(failure: &Failure, json: bool) -> ExitCode {
    if json {
        say_json(&failure.to_json());
    } else {
        say(&failure_text(failure));
    }
    exit_code(Some(failure.kind))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_version_alone_is_answered_as_the_parser_would() {
        assert_eq!(version_line(), Args::command().render_version());
        let asks = |words: &[&str]| asks_for_version(words.iter().map(OsString::from));
        assert!(asks(&["--version"]) && asks(&["-V"]));
        for words in [&[][..], &["--json", "--version"], &["-V", "x"], &["status"]] {
            assert!(!asks(words), "{words:?}");
        }
    }
}
