//! The files that the words of a command refer to.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use swarm_protocol::word_list;

use super::script::{Part, Word};
use crate::FileFacts;
use crate::question::absolute;

/// Number of directories above which they count as unknown: each `cd` doubles them.
const MANY: usize = 100;

/// Number of paths that are looked at for a line. A line with more names files that are not known.
const LOOKS: usize = 5_000;

/// Commands that change the directory for subsequent ones.
pub(super) const MOVES: [&str; 3] = ["cd", "pushd", "popd"];

/// Directories whose files are devices or show the memory or environment of a process.
const KERNEL_DIRECTORIES: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Harmless files in these directories, with exactly this spelling.
const HARMLESS: [&str; 8] = word_list(
    "/dev/full /dev/null /dev/random /dev/stderr /dev/stdin /dev/stdout /dev/urandom /dev/zero",
);
/// Ordinary files in a directory of devices.
const SHARED_MEMORY: &str = "/dev/shm";

/// The directories in which a command line reads, and the facts about files there.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    files: &'a dyn FileFacts,
    home: Option<&'a Path>,
    /// Every directory in which one of the commands may run. `None` if one cannot be determined.
    directories: Option<Vec<PathBuf>>,
    /// Whether rules restrict reading, so that hard links matter.
    watched: bool,
    /// Number of paths that may still be looked at.
    looks: Cell<usize>,
}

impl<'a> Reach<'a> {
    /// Creates the reach of these simple commands, started in `cwd`.
    pub(crate) fn of(
        parts: &[Part],
        cwd: &Path,
        home: Option<&'a Path>,
        files: &'a dyn FileFacts,
        watched: bool,
    ) -> Self {
        let mut reach = Self {
            files,
            home,
            directories: Some(vec![cwd.to_owned()]),
            watched,
            looks: Cell::new(LOOKS),
        };
        for part in parts {
            let moves = part
                .words
                .iter()
                .position(|word| MOVES.contains(&word.text.as_str()));
            if let Some(at) = moves {
                reach.moved(&part.words[at + 1..]);
            }
        }
        reach
    }

    /// Adds the directories to which these arguments of `cd` lead. The shell resolves `..`
    /// lexically, while programs resolve it after following links.
    fn moved(&mut self, arguments: &[Word]) {
        let operands = arguments
            .iter()
            .filter(|word| !word.text.starts_with('-') || word.text == "-");
        let mut added: Vec<PathBuf> = self.home.iter().map(|home| (*home).to_owned()).collect();
        for word in operands {
            if added.len() > MANY {
                self.directories = None;
                return;
            }
            let paths = (word.text != "-" && word.is_literal())
                .then(|| self.paths(word, &word.text))
                .flatten();
            let places = paths.as_ref().and_then(|paths| self.real(word, paths));
            match (paths, places) {
                (Some(paths), Some(places)) => {
                    added.extend(paths.iter().map(|path| absolute("", path)));
                    added.extend(places);
                }
                _ => self.directories = None,
            }
        }
        if let Some(directories) = &mut self.directories {
            directories.extend(added);
            directories.sort();
            directories.dedup();
        }
        self.directories.take_if(|all| all.len() > MANY);
    }

    /// Returns whether all files that a simple command may name are harmless: no word refers to a
    /// device, process or secret, and the targets of all words are known. With `descends`, this
    /// also applies to the content of the directories and of the command's own directory.
    pub(crate) fn is_harmless(&self, part: &Part, descends: bool) -> bool {
        let arguments = part.words.iter().skip(1);
        let targets = part.files().map(|redirect| &redirect.target);
        let mut words = arguments.chain(targets);
        (!descends || self.is_own_directory_harmless())
            && words.all(|word| {
                HARMLESS.contains(&word.text.as_str()) || self.is_word_harmless(word, descends)
            })
    }

    fn is_word_harmless(&self, word: &Word, descends: bool) -> bool {
        path_texts(word).all(|text| {
            let last = text.rsplit('/').next().unwrap_or(text);
            let is_harmless = |real: &PathBuf| {
                self.is_place_harmless(real)
                    && !(descends && self.holds_secrets(real))
                    && !(word.pattern && self.may_match_secret(last, real))
            };
            self.places(word, text)
                .is_some_and(|places| places.iter().all(is_harmless))
        })
    }

    /// Returns whether a program that walks its own directory finds no secrets.
    fn is_own_directory_harmless(&self) -> bool {
        self.directories.as_ref().is_some_and(|directories| {
            directories.iter().all(|directory| {
                let places = self.files.leads_to(directory, false);
                places.is_some_and(|places| !places.iter().any(|real| self.holds_secrets(real)))
            })
        })
    }

    /// Returns whether a directory contains a device, process or secret at any depth.
    fn holds_secrets(&self, real: &Path) -> bool {
        KERNEL_DIRECTORIES
            .iter()
            .any(|dir| Path::new(dir).starts_with(real))
            || !self.files.secrets_below(real).is_empty()
    }

    /// Returns whether a file name pattern may match a secret in a directory. Only the text before
    /// its first and after its last wildcard is compared.
    fn may_match_secret(&self, pattern: &str, directory: &Path) -> bool {
        const WILD: [char; 9] = ['*', '?', '[', ']', '{', '}', '(', ')', '\\'];
        let Some(first) = pattern.find(WILD) else {
            return false;
        };
        let before = pattern[..first].trim_end_matches(['@', '+', '!']);
        let after = pattern.rsplit(WILD).next().unwrap_or_default();
        let secrets = self.files.secrets_below(directory).into_iter();
        secrets
            .filter(|secret| secret.parent() == Some(directory))
            .filter_map(|secret| Some(secret.file_name()?.to_str()?.to_owned()))
            .any(|name| name.starts_with(before) && name.ends_with(after))
    }

    fn is_place_harmless(&self, real: &Path) -> bool {
        let in_kernel_directory = KERNEL_DIRECTORIES.iter().any(|dir| real.starts_with(dir));
        let forbidden =
            (in_kernel_directory && !real.starts_with(SHARED_MEMORY)) || self.files.is_secret(real);
        let doubtful = self.watched && self.files.has_other_names(real);
        !forbidden && !doubtful
    }

    /// Returns where a text within a word leads, from each directory.
    fn places(&self, word: &Word, text: &str) -> Option<Vec<PathBuf>> {
        let paths = self.directories.as_ref().map_or(1, Vec::len);
        let left = self.looks.get().checked_sub(paths);
        self.looks.set(left.unwrap_or_default());
        left?;
        self.real(word, &self.paths(word, text)?)
    }

    /// Returns where the paths of a word lead.
    fn real(&self, word: &Word, paths: &[PathBuf]) -> Option<Vec<PathBuf>> {
        let mut places = Vec::new();
        for path in paths {
            places.extend(self.files.leads_to(path, word.pattern)?);
        }
        Some(places)
    }

    /// Returns the paths that a text within a word denotes, from each directory.
    fn paths(&self, word: &Word, text: &str) -> Option<Vec<PathBuf>> {
        if word.pattern && braces_hide_the_path(text) {
            return None;
        }
        let directories = self.directories.as_ref()?;
        let expands = word.raw.starts_with('~') || text.len() < word.text.len();
        Some(match text.strip_prefix('~').filter(|_| expands) {
            None => directories.iter().map(|dir| dir.join(text)).collect(),
            Some(rest) => match rest.split_once('/').unwrap_or((rest, "")) {
                ("", rest) => vec![self.home?.join(rest)],
                ("+", rest) => directories.iter().map(|dir| dir.join(rest)).collect(),
                // The directory before the last `cd`, another user's home directory, or the
                // directory stack.
                _ => return None,
            },
        })
    }
}

/// Returns whether braces expand to paths that differ from the components of the text.
fn braces_hide_the_path(text: &str) -> bool {
    let Some((before, rest)) = text.split_once('{') else {
        return false;
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    inside.contains('/') || (before.is_empty() && text.contains('/'))
}

/// Returns the parts of a word that may be a path: the whole word, the value after `=`, and the
/// text after an option letter.
pub(super) fn path_texts(word: &Word) -> impl Iterator<Item = &str> {
    let text = word.text.as_str();
    let value = text.split_once('=').map(|(_, value)| value);
    let short = text.starts_with('-') && !text.starts_with("--");
    let joined = text
        .char_indices()
        .skip(2)
        .filter(move |_| short)
        .map(move |(at, _)| &text[at..]);
    std::iter::once(text).chain(value).chain(joined)
}

/// Returns the absolute path for a word, with `~/` and `~+/` expanded like in bash.
pub(crate) fn spelled(word: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (word.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => absolute(rest, home),
        _ => absolute(word.strip_prefix("~+/").unwrap_or(word), cwd),
    }
}
