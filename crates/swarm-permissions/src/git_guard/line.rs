//! The words of a call of git.

/// Options of git itself that take the next word, see git(1).
const WITH_VALUE: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--super-prefix",
    "--attr-source",
    "--shallow-file",
];

/// A call of git, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitLine<'a> {
    /// git's own options, with their values.
    pub options: &'a [String],
    /// The subcommand.
    pub command: &'a str,
    /// What follows it.
    pub rest: &'a [String],
}

impl<'a> GitLine<'a> {
    /// Takes the arguments of git apart. `None` where they name no subcommand.
    pub fn of(words: &'a [String]) -> Option<Self> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if WITH_VALUE.contains(&word.as_str()) {
                at += 2;
            } else if word.starts_with('-') {
                at += 1;
            } else {
                return Some(Self {
                    options: &words[..at],
                    command: word,
                    rest: &words[at + 1..],
                });
            }
        }
        None
    }
}
