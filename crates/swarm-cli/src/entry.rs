//! Entry point of `swarm`: arguments, command and exit code.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::alternative_role::run_alternative_role;
use crate::app::App;
use crate::commands::{Args, answer_shell, with_tip};
use crate::environment;
use crate::failure::Failure;
use crate::output::{Output, failure_text, say, say_json, say_raw, written};
use crate::spawn_context::VERSION;
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
    let has_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let words = written_out(std::env::args_os().collect(), has_terminal);
    let args = match parse(&words) {
        Ok(args) => args,
        Err(error) => return print_parse_error(&with_tip(error, words.into_iter())),
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

/// Common guesses and the commands they run.
const SHORT: [(&str, &[&str]); 4] = [
    ("ls", &["team", "list"]),
    ("tasks", &["task", "list"]),
    ("stop", &["shutdown"]),
    ("-p", &["run"]),
];

/// Expands short forms. `lead` is the default command: in a terminal without arguments, and if the
/// first argument is a prompt, which contains a space.
pub(crate) fn written_out(mut words: Vec<OsString>, has_terminal: bool) -> Vec<OsString> {
    let Some(first) = words.get(1) else {
        if has_terminal {
            words.push(OsString::from("lead"));
        }
        return words;
    };
    let first = first.to_string_lossy().into_owned();
    if let Some((_, full)) = SHORT.iter().find(|(short, _)| *short == first) {
        words.splice(1..2, full.iter().map(OsString::from));
    } else if !first.starts_with('-') && first.trim().contains(char::is_whitespace) {
        words.insert(1, OsString::from("lead"));
    }
    words
}

/// Parses the arguments. `lead` is also the default command if its flags come first, as in
/// `swarm --model sonnet "Fix it"`.
pub(crate) fn parse(words: &[OsString]) -> Result<Args, clap::Error> {
    Args::try_parse_from(words).or_else(|error| {
        let starts_with_flag = words
            .get(1)
            .is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
        if error.kind() != ErrorKind::UnknownArgument || !starts_with_flag {
            return Err(error);
        }
        let mut words = words.to_vec();
        words.insert(1, OsString::from("lead"));
        Args::try_parse_from(words)
    })
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
    match written(printed.and_then(|()| out.flush())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure, false);
            ExitCode::from(failure.kind.exit_code().0)
        }
    }
}

/// Prints help, the version or an argument error.
fn print_parse_error(error: &clap::Error) -> ExitCode {
    let asks_for_json = std::env::args_os().any(|word| word == "--json");
    if error.use_stderr() && asks_for_json {
        say_json(&Failure::from_arguments(&rendered(error)).to_json());
    } else if let Err(failure) = show(error) {
        report(&failure, asks_for_json);
        return ExitCode::from(failure.kind.exit_code().0);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Help and version go to stdout; clap distinguishes them.
fn show(error: &clap::Error) -> Result<(), Failure> {
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

fn run(args: Args) -> Result<ExitCode, Failure> {
    let env = environment::read()?;
    let out = Output::new(&env, &args.global);
    if let Some(done) = args.command.run_alone(&env, out) {
        return done;
    }
    let app = App::new(env, &args.global, &args.command.flags())?;
    let filter = app
        .env
        .get("SWARM_LOG")
        .or((args.global.verbose > 0).then_some("swarm=debug"));
    logging::start(filter, &app.root, "swarm");
    let done = args.command.run(&app);
    team_hooks::settle(&app);
    done
}

fn report(failure: &Failure, json: bool) {
    if json {
        say_json(&failure.to_json());
        return;
    }
    say(&failure_text(failure));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn short_forms_are_expanded_and_a_single_word_is_not_a_prompt() {
        let full = |words: &[&str], has_terminal| {
            let words = std::iter::once("swarm").chain(words.iter().copied());
            let words = written_out(words.map(OsString::from).collect(), has_terminal);
            let words = words.into_iter().skip(1);
            words
                .map(|word| word.into_string().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(full(&[], true), ["lead"]);
        assert_eq!(full(&[], false), [""; 0]);
        assert_eq!(
            full(&["fix it", "--json"], false),
            ["lead", "fix it", "--json"]
        );
        assert_eq!(full(&["ls", "--json"], true), ["team", "list", "--json"]);
        assert_eq!(full(&["tasks"], true), ["task", "list"]);
        assert_eq!(full(&["stop", "bob"], true), ["shutdown", "bob"]);
        assert_eq!(full(&["-p", "fix it"], true), ["run", "fix it"]);
        for word in ["statsu", "--help", "--team a", ""] {
            assert_eq!(full(&[word], true), [word]);
        }
    }

    #[test]
    fn flags_of_the_lead_need_no_command() {
        let parsed = |words: &[&str]| {
            let words = std::iter::once("swarm").chain(words.iter().copied());
            parse(&words.map(OsString::from).collect::<Vec<_>>())
        };
        for words in [
            &["--model", "sonnet", "fix it"][..],
            &["-c"],
            &["--mode", "plan", "--json"],
        ] {
            let args = parsed(words).unwrap();
            let command = format!("{:?}", args.command);
            assert!(command.starts_with("Lead("), "{command}");
        }
        let misspelled = parsed(&["--modle", "sonnet"]).unwrap_err().to_string();
        assert!(misspelled.contains("swarm lead"), "{misspelled}");
        let of_a_command = parsed(&["status", "--bogus"]).unwrap_err().to_string();
        assert!(of_a_command.contains("swarm status"), "{of_a_command}");
    }

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
