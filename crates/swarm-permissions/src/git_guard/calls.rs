//! The git calls in a command line.

use swarm_protocol::word_list;

use crate::shell::{self, Part, Word};

/// Words of compound commands, in which a command may run never or several times, and of commands that
/// hide their program.
const KEYWORDS: [&str; 19] = word_list(
    "if then elif else fi for select while until do done case esac function coproc { } ! time",
);

/// Commands after which the rest of a line may not run, or not as it is written.
const ENDS: [&str; 15] = word_list(
    "exit return break continue exec set shopt eval source . trap kill alias builtin command",
);

/// Returns the arguments of the git calls that certainly run, with certain words. Empty if the command
/// line changes the directory or sets variables: then the repository is not known.
pub fn git_calls(command: &str) -> Vec<Vec<String>> {
    let script = shell::read(command);
    let mut words = script.parts.iter().flat_map(|part| &part.words);
    let is_compound =
        script.grouped || script.parts.iter().any(|part| begins_with(part, &KEYWORDS));
    if script.broken
        || is_compound
        || shell::moves_and_runs_git(&script.parts)
        || words.any(Word::is_assignment)
    {
        return Vec::new();
    }
    let parts = script.parts.iter();
    let reached = parts.take_while(|part| is_named(part) && !begins_with(part, &ENDS));
    let calls = reached.filter(|part| !part.conditional).filter_map(|part| {
        let (program, arguments) = part.words.split_first()?;
        let is_certain = program.text == "git" && arguments.iter().all(Word::is_literal);
        is_certain.then(|| arguments.iter().map(|word| word.text.clone()).collect())
    });
    calls.collect()
}

fn begins_with(part: &Part, words: &[&str]) -> bool {
    let first = part.words.first();
    first.is_some_and(|first| words.contains(&first.text.as_str()))
}

/// Returns whether it is known which program a command runs.
fn is_named(part: &Part) -> bool {
    part.words.first().is_none_or(Word::is_literal)
}
