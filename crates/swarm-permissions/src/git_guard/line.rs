//! The arguments of a git call.

/// Options of git itself that take a separate value, see git(1).
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

/// A parsed git call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitLine<'a> {
    /// git's global options, with their values.
    pub options: &'a [String],
    /// The subcommand.
    pub command: &'a str,
    /// The arguments of the subcommand.
    pub rest: &'a [String],
}

impl<'a> GitLine<'a> {
    /// Parses git's arguments. `None` without a subcommand.
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
