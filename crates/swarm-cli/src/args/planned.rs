//! Commands and options that a later version has: whoever types one has read of it, and is told so in one sentence.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands of later versions.
const COMMANDS: [&str; 3] = ["lead", "brief", "cost"];

/// Options of later versions.
const OPTIONS: [&str; 2] = ["--plan", "--coordinator"];

/// The sentence, if it is for such a word that the arguments were not understood.
pub(crate) fn planned(error: &clap::Error) -> Option<String> {
    let (kind, known, what): (_, &[&str], _) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, &COMMANDS, "command"),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, &OPTIONS, "option"),
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else {
        return None;
    };
    // An option may come with its value: `--worktree=x`.
    let word = word.split(['=', ' ']).next().unwrap_or_default();
    known
        .contains(&word)
        .then(|| format!("this version of swarm does not have the {what} `{word}` yet"))
}
