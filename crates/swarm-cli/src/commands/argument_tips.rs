//! Tips for invalid arguments.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Maximum length of a text that is repeated in a tip.
const SHOWN: usize = 60;

/// Returns the parse error, with a tip if a text with several words lacks quotes, or a single word may
/// be a prompt.
pub(crate) fn with_tip(
    mut error: clap::Error,
    words: impl Iterator<Item = OsString>,
) -> clap::Error {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(extra)) = error.get(ContextKind::InvalidArg)
        && let Some(text) = text_around(&words, extra)
    {
        let tip = format!("quote text of several words: {text}");
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && words.len() == 2
    {
        let tip = format!("to prompt the lead with one word: swarm lead {}", words[1]);
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
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
const OPTIONS: [&str; 8] = [
    "--prompt",
    "--description",
    "--summary",
    "--reason",
    "--why",
    "--subject",
    "--result",
    "--active-form",
];

#[cfg(test)]
mod tests {
    use super::*;

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
