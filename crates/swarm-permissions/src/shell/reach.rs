//! The files that the words of a command lead to.

use std::path::{Path, PathBuf};

use super::script::{Part, Word};
use crate::FileFacts;
use crate::question::absolute;

/// Commands that change the directory of those after them.
pub(super) const MOVES: [&str; 3] = ["cd", "pushd", "popd"];

/// Directories in which a file is a device, or shows the memory or environment of a process.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// What in them is harmless, spelled exactly like this.
const HARMLESS: [&str; 8] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/urandom",
    "/dev/zero",
];
/// Ordinary files in a directory of devices.
const ORDINARY: &str = "/dev/shm";

/// From where a command line reads, and what is known of the files there.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    files: &'a dyn FileFacts,
    home: Option<&'a Path>,
    /// Every directory that one of its commands may run in. `None` if one cannot be determined.
    directories: Option<Vec<PathBuf>>,
    /// Whether rules restrict reading, so that a file's other names matter.
    watched: bool,
}

impl<'a> Reach<'a> {
    /// The reach of these simple commands, started in `cwd`.
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

    /// Adds the directories that these arguments of `cd` lead to. The shell takes `..` back by the spelling of the path, and
    /// programs take it back by where links have led.
    fn moved(&mut self, arguments: &[Word]) {
        let operands = arguments
            .iter()
            .filter(|word| !word.text.starts_with('-') || word.text == "-");
        let mut added: Vec<PathBuf> = self.home.iter().map(|home| (*home).to_owned()).collect();
        for word in operands {
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
    }

    /// Whether all files that a simple command may name can be read by anybody: no word leads to a device, a process
    /// or a secret, and where every word leads is known. Where it `descends` into directories, that holds for what is in
    /// them and in its own.
    pub(crate) fn is_harmless(&self, part: &Part, descends: bool) -> bool {
        let arguments = part.words.iter().skip(1);
        let targets = part
            .redirects
            .iter()
            .filter(|redirect| !redirect.descriptor)
            .map(|redirect| &redirect.target);
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

    /// Whether a program that goes through the directory it runs in meets no secret there.
    fn is_own_directory_harmless(&self) -> bool {
        self.directories.as_ref().is_some_and(|directories| {
            directories.iter().all(|directory| {
                let places = self.files.leads_to(directory, false);
                places.is_some_and(|places| !places.iter().any(|real| self.holds_secrets(real)))
            })
        })
    }

    /// Whether a directory, or one in it, holds a device, a process or a secret.
    fn holds_secrets(&self, real: &Path) -> bool {
        OF_THE_KERNEL
            .iter()
            .any(|dir| Path::new(dir).starts_with(real))
            || !self.files.secrets_below(real).is_empty()
    }

    /// Whether a file name pattern may stand for a secret in a directory. Only what is before its first wildcard and behind
    /// its last one is compared.
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
        let of_the_kernel = OF_THE_KERNEL.iter().any(|dir| real.starts_with(dir));
        let forbidden =
            (of_the_kernel && !real.starts_with(ORDINARY)) || self.files.is_secret(real);
        let doubtful = self.watched && self.files.has_other_names(real);
        !forbidden && !doubtful
    }

    /// Where a text that is part of a word leads, from each directory.
    fn places(&self, word: &Word, text: &str) -> Option<Vec<PathBuf>> {
        self.real(word, &self.paths(word, text)?)
    }

    /// Where paths lead that a word stands for.
    fn real(&self, word: &Word, paths: &[PathBuf]) -> Option<Vec<PathBuf>> {
        let mut places = Vec::new();
        for path in paths {
            places.extend(self.files.leads_to(path, word.pattern)?);
        }
        Some(places)
    }

    /// The paths that a text that is part of a word stands for, from each directory.
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
                // The directory before the last `cd`, another user's home directory, or the directory stack.
                _ => return None,
            },
        })
    }
}

/// Whether braces make other paths of a text than its components show.
fn braces_hide_the_path(text: &str) -> bool {
    let Some((before, rest)) = text.split_once('{') else {
        return false;
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    inside.contains('/') || (before.is_empty() && text.contains('/'))
}

/// The parts of a word that may be a path: the whole, the value after `=`, and what follows the letter of an option.
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

/// An absolute path for a word that stands for one, with `~/` and `~+/` expanded as bash does.
pub(crate) fn spelled(word: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (word.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => absolute(rest, home),
        _ => absolute(word.strip_prefix("~+/").unwrap_or(word), cwd),
    }
}
