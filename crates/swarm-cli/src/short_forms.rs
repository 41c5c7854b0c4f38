//! Short forms of command lines.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use crate::commands::Args;

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
    if first == "help" {
        // The command `help` has no help.
        words.retain(|word| word != "--help" && word != "-h");
    } else if let Some((_, full)) = SHORT.iter().find(|(short, _)| *short == first) {
        words.splice(1..2, full.iter().map(OsString::from));
    } else if !first.starts_with('-') && first.trim().contains(char::is_whitespace) {
        words.insert(1, OsString::from("lead"));
    }
    words
}

/// Parses the arguments. `lead` is also the default command if options come first and no command
/// follows, as in `swarm --model sonnet "Fix it"`; with `-p` it is `run`.
pub(crate) fn parse(words: &[OsString]) -> Result<Args, clap::Error> {
    if let Some(args) = Args::parse_alone(words) {
        return Ok(args);
    }
    Args::try_parse_from(words).or_else(|error| {
        let starts_with_option = words
            .get(1)
            .is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
        let leads = match error.kind() {
            ErrorKind::UnknownArgument => !words
                .iter()
                .filter_map(|word| word.to_str())
                .any(is_command),
            ErrorKind::InvalidSubcommand => is_prompt(&error),
            ErrorKind::MissingSubcommand => true,
            _ => false,
        };
        if !leads || !starts_with_option {
            return Err(error);
        }
        let mut words = words.to_vec();
        let runs = words.iter().any(|word| word == "-p");
        words.insert(1, OsString::from(if runs { "run" } else { "lead" }));
        Args::try_parse_from(words)
    })
}

pub(crate) fn is_command(name: &str) -> bool {
    Args::command().find_subcommand(name).is_some()
}

pub(crate) fn is_short_form(word: &str) -> bool {
    SHORT.iter().any(|(short, _)| *short == word)
}

/// Whether a text of several words is given where a command was expected.
fn is_prompt(error: &clap::Error) -> bool {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(given)) => given.trim().contains(char::is_whitespace),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(full(&["help", "--help"], true), ["help"]);
        assert_eq!(full(&["help", "task", "-h"], true), ["help", "task"]);
        for word in ["statsu", "--help", "--team a", ""] {
            assert_eq!(full(&[word], true), [word]);
        }
    }

    #[test]
    fn a_command_is_parsed_as_among_all_commands() {
        let words = |line: &str| -> Vec<OsString> {
            let words = std::iter::once("swarm").chain(line.split(' '));
            words.map(OsString::from).collect()
        };
        for line in [
            "status",
            "status --json --team a -vv",
            "task create --team a -q subject",
            "send bob hello --json",
            "team delete a --force",
        ] {
            let alone = Args::parse_alone(&words(line)).unwrap();
            let among = Args::try_parse_from(words(line)).unwrap();
            assert_eq!(format!("{alone:?}"), format!("{among:?}"), "{line}");
        }
        for line in [
            "--json status",
            "status --help",
            "status --bogus",
            "statsu",
            "help",
        ] {
            assert!(Args::parse_alone(&words(line)).is_none(), "{line}");
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
            &["-t", "parser", "fix it"],
            &["-t", "parser"],
        ] {
            let args = parsed(words).unwrap();
            let command = format!("{:?}", args.command);
            assert!(command.starts_with("Lead("), "{command}");
        }
        let run = parsed(&["--model", "sonnet", "-p", "fix it"]).unwrap();
        let command = format!("{:?}", run.command);
        assert!(command.starts_with("Run("), "{command}");
        let misspelled = parsed(&["--modle", "sonnet"]).unwrap_err().to_string();
        assert!(misspelled.contains("swarm lead"), "{misspelled}");
        for command in [
            &["--team", "a", "shutdown", "--worktree", "b"][..],
            &["--json", "status", "--model", "sonnet"],
        ] {
            let error = parsed(command).unwrap_err().to_string();
            assert!(!error.contains("swarm lead"), "{error}");
        }
        let of_a_command = parsed(&["status", "--bogus"]).unwrap_err().to_string();
        assert!(of_a_command.contains("swarm status"), "{of_a_command}");
    }
}
