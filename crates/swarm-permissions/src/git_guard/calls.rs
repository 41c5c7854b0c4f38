//! The git calls in a command line.

use crate::shell::{self, Word};

/// Returns the arguments of the git calls whose words are certain. Empty if the command line changes
/// the directory or sets variables: then the repository is not known.
pub fn git_calls(command: &str) -> Vec<Vec<String>> {
    let script = shell::read(command);
    let mut words = script.parts.iter().flat_map(|part| &part.words);
    if script.broken || shell::moves_and_runs_git(&script.parts) || words.any(Word::is_assignment) {
        return Vec::new();
    }
    let calls = script.parts.iter().filter_map(|part| {
        let (program, arguments) = part.words.split_first()?;
        let is_certain = program.text == "git" && arguments.iter().all(Word::is_literal);
        is_certain.then(|| arguments.iter().map(|word| word.text.clone()).collect())
    });
    calls.collect()
}
