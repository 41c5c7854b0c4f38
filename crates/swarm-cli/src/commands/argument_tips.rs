//! Tips for invalid arguments.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use swarm_protocol::word_list;

/// Maximum length of a text that is repeated in a tip.
const SHOWN: usize = 60;

/// Returns the parse error, with a tip if a text with several words lacks quotes, if a prompt is
/// missing or may be a single word, or if a command has another name.
pub(crate) fn with_tip(
    mut error: clap::Error,
    words: impl Iterator<Item = OsString>,
) -> clap::Error {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => text_of(&error, ContextKind::InvalidArg).and_then(|extra| {
            text_around(&words, extra).map(|text| format!("quote text of several words: {text}"))
        }),
        ErrorKind::MissingRequiredArgument => missing_tip(&words, &error),
        ErrorKind::InvalidSubcommand => {
            let unknown = text_of(&error, ContextKind::InvalidSubcommand);
            let is_similar = error.get(ContextKind::SuggestedSubcommand).is_some();
            let word = words.get(1).filter(|_| words.len() == 2 && !is_similar);
            let lead = || {
                Some(format!(
                    "to prompt the lead with one word: swarm lead {}",
                    word?
                ))
            };
            unknown
                .and_then(|unknown| other_command(&words, unknown))
                .or_else(lead)
        }
        _ => None,
    };
    // `--rm` deletes the team: a typo must not lead there. The usage names the suggested option too.
    let misleads = tip.is_some() || text_of(&error, ContextKind::SuggestedArg) == Some("--rm");
    if misleads && error.remove(ContextKind::SuggestedArg).is_some() {
        error.remove(ContextKind::Usage);
    }
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
}

fn text_of(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns a tip if `resume` lacks its team, which is an argument, or the prompt that an option needs.
fn missing_tip(words: &[String], error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let lacks = |name: &str| missing.iter().any(|one| one.contains(name));
    let has = |start: &str| words.iter().any(|word| word.starts_with(start));
    // The usage names the command, whose words may follow options with any values.
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else {
        return None;
    };
    if usage.to_string().split_whitespace().nth(2) != Some("resume") {
        return None;
    }
    if lacks("TEAM_NAME") {
        return (has("--team") || has("-t"))
            .then(|| "the team is an argument: swarm resume TEAM".to_owned());
    }
    lacks("PROMPT").then(|| {
        "the option is for a new lead, which needs a prompt: swarm resume TEAM \"…\"".to_owned()
    })
}

/// Returns a tip for a word that other programs have as a command.
fn other_command(words: &[String], unknown: &str) -> Option<String> {
    let at = words.iter().position(|word| word == unknown)?;
    let is_of_task = words[..at].iter().any(|word| word == "task");
    let id = words.get(at + 1).map_or("1", String::as_str);
    match unknown {
        "done" | "complete" | "finish" if is_of_task => Some(format!(
            "to complete a task: swarm task update {id} --status completed"
        )),
        "start" if is_of_task => Some(format!("to start a task: swarm task claim {id}")),
        "budget" if !is_of_task => Some("to see costs and budgets: swarm cost".to_owned()),
        _ => None,
    }
}

/// Returns the words around an unexpected word up to the next option, quoted. `None` if only
/// options or the command precede it, so that it is not part of a text.
fn text_around(words: &[String], extra: &str) -> Option<String> {
    if extra.starts_with('-') {
        return None;
    }
    let at = words.iter().position(|word| word == extra)?;
    let first = words.get(at.checked_sub(1)?)?;
    let has = |word: &str| words[..at].iter().any(|one| one == word);
    let takes_text = COMMANDS.iter().any(|command| has(command)) || (has("task") && has("create"));
    let follows_text = OPTIONS.iter().any(|option| has(option));
    let is_name =
        ["create"].iter().chain(&COMMANDS).any(|one| one == first) || first.starts_with('-');
    if is_name || !(takes_text || follows_text) {
        return None;
    }
    let rest = words[at..].iter().take_while(|word| !word.starts_with('-'));
    let text = rest.fold(first.clone(), |text, word| format!("{text} {word}"));
    // A shell would expand these inside double quotes.
    let is_plain = !text.contains(['"', '$', '`', '\\', '!']) && !text.contains(char::is_control);
    (is_plain && text.chars().count() <= SHOWN)
        .then(|| format!("\"{text}\""))
        .or_else(|| Some("\"…\"".to_owned()))
}

/// Commands whose last argument is a text.
const COMMANDS: [&str; 3] = ["send", "run", "resume"];

/// Options whose value is a text.
const OPTIONS: [&str; 8] =
    word_list("--prompt --description --summary --reason --why --subject --result --active-form");

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tip for a line with an error of clap.
    fn tip(line: &str, error: clap::Error) -> String {
        let words = line.split(' ').map(OsString::from);
        let error = with_tip(error, words).render().to_string();
        error
            .lines()
            .find(|line| line.contains("tip:"))
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    fn parse_error(line: &str) -> clap::Error {
        use clap::{Arg, ArgAction, Command};
        let rm = Arg::new("rm").long("rm").action(ArgAction::SetTrue);
        let task = Command::new("task").subcommand(Command::new("update"));
        let team = Arg::new("team").long("team").action(ArgAction::Set);
        let run = Command::new("run")
            .arg(rm.clone())
            .arg(team.clone())
            .arg(Arg::new("prompt").value_name("PROMPT").required(true));
        let swarm = Command::new("swarm").subcommand(run);
        let resume = Command::new("resume")
            .arg(Arg::new("name").value_name("TEAM_NAME").required(true))
            .arg(Arg::new("prompt").value_name("PROMPT"))
            .arg(Arg::new("model").long("model").requires("prompt"));
        let swarm = swarm.subcommand(resume.arg(rm).arg(team));
        let parsed = swarm.subcommand(task).try_get_matches_from(line.split(' '));
        parsed.unwrap_err()
    }

    #[test]
    fn words_of_other_programs_lead_to_the_right_command() {
        for (line, shown) in [
            ("swarm run --rmm", ""),
            (
                "swarm resume demo --model opus",
                "tip: the option is for a new lead, which needs a prompt: swarm resume TEAM \"…\"",
            ),
            (
                "swarm resume --team demo",
                "tip: the team is an argument: swarm resume TEAM",
            ),
            ("swarm resume", ""),
            ("swarm run --team resume", ""),
            (
                "swarm task done 3",
                "tip: to complete a task: swarm task update 3 --status completed",
            ),
            (
                "swarm task start 3",
                "tip: to start a task: swarm task claim 3",
            ),
            ("swarm budget", "tip: to see costs and budgets: swarm cost"),
            (
                "swarm explain",
                "tip: to prompt the lead with one word: swarm lead explain",
            ),
        ] {
            assert_eq!(tip(line, parse_error(line)), shown, "{line}");
        }
        let line = "swarm run --rmm";
        let shown = with_tip(parse_error(line), line.split(' ').map(OsString::from));
        let shown = shown.to_string().replace("--rmm", "");
        assert!(!shown.contains("--rm"), "{shown}");
    }

    #[test]
    fn unquoted_text_is_distinguished_from_an_extra_word() {
        let text = |line: &str, extra: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            text_around(&words, extra)
        };
        for (line, extra, meant) in [
            (
                "swarm send bob hello there you --urgent",
                "there",
                "\"hello there you\"",
            ),
            ("swarm run find the bug", "the", "\"find the bug\""),
            ("swarm task create write tests", "tests", "\"write tests\""),
            (
                "swarm spawn bob --prompt look around",
                "around",
                "\"look around\"",
            ),
            ("swarm send bob cost $5", "$5", "\"…\""),
        ] {
            assert_eq!(text(line, extra).as_deref(), Some(meant), "{line}");
        }
        for (line, extra) in [
            ("swarm status bob", "bob"),
            ("swarm send bob hi --urgnt", "--urgnt"),
            ("swarm send bob hi --urgent now", "now"),
            ("swarm kill bob eve", "eve"),
            ("swarm team create one two", "two"),
        ] {
            assert_eq!(text(line, extra), None, "{line}");
        }
    }
}
