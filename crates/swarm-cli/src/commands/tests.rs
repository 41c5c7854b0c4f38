//! Tests of argument parsing.

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use swarm_protocol::{PermissionMode, TaskId};

use super::task::TaskCommand;
use super::*;

fn parse(words: &[&str]) -> Result<Command, clap::Error> {
    let words = std::iter::once("swarm").chain(words.iter().copied());
    Args::try_parse_from(words).map(|args| args.command)
}

fn refused(words: &[&str]) -> ErrorKind {
    parse(words)
        .expect_err("it should not be understood")
        .kind()
}

#[test]
fn the_definition_is_sound() {
    Args::with_all_arguments().debug_assert();
}

#[test]
fn every_command_and_flag_has_help() {
    fn check(command: &clap::Command, path: &str) {
        assert!(command.get_about().is_some(), "{path}");
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some(),
                "{path} {}",
                argument.get_id()
            );
        }
        for inner in command.get_subcommands() {
            check(inner, &format!("{path} {}", inner.get_name()));
        }
    }
    check(&Args::with_all_arguments(), "swarm");
}

#[test]
fn the_mode_may_be_given_by_claude_codes_flag() {
    let Ok(Command::Spawn(args)) = parse(&["spawn", "alice", "--permission-mode", "plan"]) else {
        panic!("a teammate to be started");
    };
    assert_eq!(args.mode, Some(PermissionMode::Plan));
    parse(&["run", "x", "--permission-mode", "plan"]).unwrap();
    parse(&["resume", "team", "x", "--permission-mode", "plan"]).unwrap();
}

#[test]
fn prompt_of_a_lead_is_an_argument_or_an_option() {
    for command in ["run", "lead"] {
        for words in [
            &[command, "fix it"][..],
            &[command, "-p", "fix it"],
            &[command, "--prompt", "fix it"],
        ] {
            let Ok(
                Command::Run(run::RunArgs { prompt, .. })
                | Command::Lead(lead::LeadArgs { prompt, .. }),
            ) = parse(words)
            else {
                panic!("{words:?} is not understood");
            };
            assert_eq!(prompt.given(), Some("fix it"), "{words:?}");
        }
        assert_eq!(
            refused(&[command, "fix it", "-p", "more"]),
            ErrorKind::ArgumentConflict
        );
    }
    assert_eq!(refused(&["run"]), ErrorKind::MissingRequiredArgument);
    assert!(parse(&["lead"]).is_ok());
}

#[test]
fn prompt_of_a_new_lead_of_a_team_is_an_argument_or_an_option() {
    for (line, given) in [
        ("resume demo fix", Some("fix")),
        ("resume demo -p fix --rm", Some("fix")),
        ("resume --prompt fix demo --model sonnet", Some("fix")),
        ("resume demo", None),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let Ok(Command::Resume(args)) = parse(&words) else {
            panic!("{line} is not understood");
        };
        assert_eq!((args.name.as_str(), args.prompt.given()), ("demo", given));
    }
    let twice = refused(&["resume", "demo", "fix it", "-p", "more"]);
    assert_eq!(twice, ErrorKind::ArgumentConflict);
    let without = refused(&["resume", "demo", "--rm"]);
    assert_eq!(without, ErrorKind::MissingRequiredArgument);
    let words = ["resume", "--model", "opus", "--team", "demo", "-p", "fix"];
    let error = parse(&words).expect_err("the team is missing").to_string();
    assert!(error.contains("<TEAM_NAME>"), "{error}");
    assert!(!error.contains("<TEAM_NAME> <PROMPT>"), "{error}");
    assert!(!error.contains("\n  <PROMPT>"), "{error}");
}

#[test]
fn numbers_of_tasks_may_be_listed_with_commas_and_signs() {
    let Ok(Command::Task(TaskCommand::Create(args))) = parse(&[
        "task",
        "create",
        "x",
        "--blocked-by",
        "1,#2",
        "--blocked-by",
        "3",
    ]) else {
        panic!("a task to be made");
    };
    assert_eq!(args.blocked_by, [1, 2, 3].map(TaskId::new));
}

#[test]
fn task_is_created_from_arguments_or_a_file() {
    assert!(parse(&["task", "create", "--file", "-"]).is_ok());
    assert_eq!(
        refused(&["task", "create"]),
        ErrorKind::MissingRequiredArgument
    );
    for more in [["x", ""], ["--owner", "bob"], ["--metadata", "{}"]] {
        let more = more.into_iter().filter(|word| !word.is_empty());
        let words: Vec<&str> = ["task", "create", "--file", "f"]
            .into_iter()
            .chain(more)
            .collect();
        assert_eq!(refused(&words), ErrorKind::ArgumentConflict);
    }
    assert_eq!(
        refused(&["task", "create", "x", "--metadata", "[1]"]),
        ErrorKind::ValueValidation
    );
}

#[test]
fn members_or_all_are_required() {
    for verb in ["shutdown", "kill"] {
        assert!(parse(&[verb, "bob"]).is_ok());
        assert!(parse(&[verb, "--all"]).is_ok());
        assert_eq!(refused(&[verb]), ErrorKind::MissingRequiredArgument);
        assert_eq!(
            refused(&[verb, "bob", "--all"]),
            ErrorKind::ArgumentConflict
        );
    }
    assert!(parse(&["task", "claim", "--next", "--as", "bob"]).is_ok());
    assert_eq!(
        refused(&["task", "claim", "1", "--next"]),
        ErrorKind::ArgumentConflict
    );
}

#[test]
fn names_with_path_components_are_rejected() {
    for name in ["../x", "a/b", "", "a b"] {
        for words in [
            ["inbox", name],
            ["logs", name],
            ["peek", name],
            ["kill", name],
        ] {
            assert_eq!(refused(&words), ErrorKind::ValueValidation, "{words:?}");
        }
    }
}

#[test]
fn both_spellings_of_a_status_are_known() {
    for word in ["in_progress", "in-progress", "completed", "pending"] {
        assert!(
            parse(&["task", "update", "1", "--status", word]).is_ok(),
            "{word}"
        );
    }
    assert_eq!(
        refused(&["task", "update", "1", "--status", "done"]),
        ErrorKind::InvalidValue
    );
}

#[test]
fn timeout_requires_wait() {
    assert!(parse(&["send", "bob", "-", "--wait", "acked", "--timeout", "5"]).is_ok());
    assert_eq!(
        refused(&["send", "bob", "hi", "--timeout", "5"]),
        ErrorKind::MissingRequiredArgument
    );
}

#[test]
fn what_only_stops_is_known() {
    for words in [
        &["kill", "--all"][..],
        &["shutdown", "bob"],
        &["team", "delete"],
    ] {
        assert!(parse(words).expect("a command").flags().only_stops);
    }
    for words in [&["spawn", "bob"][..], &["team", "list"], &["status"]] {
        assert!(!parse(words).expect("a command").flags().only_stops);
    }
}

/// Renders every help page for a terminal of 80 columns. Accept changed wording with
/// `INSTA_UPDATE=always`.
#[test]
fn the_help_of_every_command() {
    fn add(command: &mut clap::Command, path: &str, pages: &mut String) {
        let global = command.render_help().to_string();
        // The global options are identical for every command and printed once.
        let own = global.find("\nGlobal options:").map(|at| {
            let rest = &global[at + 1..];
            let end = rest.find("\n\n").map_or(rest.len(), |end| end + 2);
            format!("{}{}", &global[..=at], &rest[end..])
        });
        let page = own.unwrap_or(global);
        pages.extend(["=== ", path, "\n", page.trim_end(), "\n"]);
        for inner in command.get_subcommands_mut() {
            let name = inner.get_name().to_owned();
            if name != "help" {
                add(inner, &format!("{path} {name}"), pages);
            }
        }
    }
    let mut pages = String::new();
    let mut swarm = Args::command().term_width(80);
    swarm.build();
    add(&mut swarm, "swarm", &mut pages);
    insta::assert_snapshot!(pages);
}
