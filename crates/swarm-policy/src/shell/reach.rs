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

    /// Adds the directories that these arguments of `cd` lead to.
    fn moved(&mut self, arguments: &[Word]) {
        let operands = arguments
            .iter()
            .filter(|word| !word.text.starts_with('-') || word.text == "-");
        let mut added: Vec<PathBuf> = self.home.iter().map(|home| (*home).to_owned()).collect();
        for word in operands {
            let places = (word.text != "-" && word.is_literal())
                .then(|| self.places(word, &word.text))
                .flatten();
            match places {
                Some(places) => added.extend(places),
                None => self.directories = None,
            }
        }
        if let Some(directories) = &mut self.directories {
            directories.extend(added);
            directories.sort();
            directories.dedup();
        }
    }

    /// Whether all files that a simple command may name can be read by anybody: no word leads to a device, a process
    /// or a secret, and where every word leads is known.
    pub(crate) fn is_harmless(&self, part: &Part) -> bool {
        let arguments = part.words.iter().skip(1);
        let targets = part
            .redirects
            .iter()
            .filter(|redirect| !redirect.descriptor)
            .map(|redirect| &redirect.target);
        arguments
            .chain(targets)
            .all(|word| HARMLESS.contains(&word.text.as_str()) || self.is_word_harmless(word))
    }

    fn is_word_harmless(&self, word: &Word) -> bool {
        path_texts(word).all(|text| {
            self.places(word, text)
                .is_some_and(|places| places.iter().all(|real| self.is_place_harmless(real)))
        })
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
        if word.pattern && braces_hide_the_path(text) {
            return None;
        }
        let directories = self.directories.as_ref()?;
        let expands = word.raw.starts_with('~') || text.len() < word.text.len();
        let paths: Vec<PathBuf> = match text.strip_prefix('~').filter(|_| expands) {
            None => directories.iter().map(|dir| dir.join(text)).collect(),
            Some(rest) => match rest.split_once('/').unwrap_or((rest, "")) {
                ("", rest) => vec![self.home?.join(rest)],
                ("+", rest) => directories.iter().map(|dir| dir.join(rest)).collect(),
                // The directory before the last `cd`, another user's home directory, or the directory stack.
                _ => return None,
            },
        };
        let mut places = Vec::new();
        for path in paths {
            places.extend(self.files.leads_to(&path, word.pattern)?);
        }
        Some(places)
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
