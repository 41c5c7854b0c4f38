//! Tests that every command line in help texts and the guide parses.

use std::ffi::OsString;

use super::Args;
use crate::short_forms::{parse, written_out};

/// Returns the arguments of the first command of a shell line, without redirections and comments.
/// `None` if it does not run `swarm`.
fn words(line: &str) -> Option<Vec<String>> {
    let at = line.match_indices("swarm ").map(|(at, _)| at).find(|at| {
        line[..*at]
            .chars()
            .next_back()
            .is_none_or(|c| " (".contains(c))
    })?;
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in line[at..].chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '|' | '<' | '>' | '&' | ';' | '#' | ')') => break,
            (None, ' ') => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            _ => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    Some(words)
}

#[track_caller]
fn assert_understood(line: &str) {
    let Some(words) = words(line) else { return };
    let words = written_out(words.into_iter().map(OsString::from).collect(), true);
    if let Err(error) = parse(&words) {
        let is_answer = !error.use_stderr();
        assert!(is_answer, "{line}\n{words:?}\n{error}");
    }
}

/// Returns an example line without the explanation after three or more spaces.
fn example(line: &str) -> &str {
    let line = line.trim();
    line.split_once("   ").map_or(line, |(command, _)| command)
}

#[test]
fn every_command_line_of_the_guide_parses() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide.md");
    let guide = std::fs::read_to_string(path).expect("the guide");
    let mut language = None;
    let mut seen = 0;
    for line in guide.lines() {
        match (line.strip_prefix("```"), language) {
            (Some(name), None) => language = Some(name),
            (Some(_), Some(_)) => language = None,
            (None, Some("sh")) => {
                assert_understood(line.split("   #").next().unwrap_or(line));
                seen += 1;
            }
            _ => {}
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn every_example_parses_and_fits_a_narrow_terminal() {
    fn check(command: &clap::Command, path: &str) {
        let after = command.get_after_help().map(ToString::to_string);
        let examples = after
            .as_deref()
            .and_then(|text| text.split_once("Examples:\n"));
        for line in examples.map_or("", |(_, lines)| lines).lines() {
            assert!(line.chars().count() <= 80, "{path}: {line}");
            assert_understood(example(line));
        }
        let needs_none = ["list", "show", "release", "delete", "doctor"];
        let is_leaf = command.get_subcommands().next().is_none();
        let has = examples.is_some() || needs_none.contains(&command.get_name());
        assert!(has || !is_leaf, "{path} has no example");
        for inner in command.get_subcommands() {
            if inner.get_name() != "help" {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
    }
    check(&Args::with_all_arguments(), "swarm");
}

#[test]
fn shell_lines_are_split_into_words() {
    assert_eq!(
        words("git diff | swarm send bob -").unwrap(),
        ["swarm", "send", "bob", "-"]
    );
    assert_eq!(
        words("X=1 swarm send '*' \"a b\" && y # c").unwrap(),
        ["swarm", "send", "*", "a b"]
    );
    assert_eq!(words("ollama serve &"), None);
}
