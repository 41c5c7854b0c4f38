//! Values of a repository's `settings.json` files.

use std::path::{Path, PathBuf};

/// A value of a repository's files: the nearest directory wins, and its `settings.local.json` over
/// its `settings.json`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct NearestValue<T>(Option<(PathBuf, T)>);

impl<T> NearestValue<T> {
    /// Adds the value of a file in `directory`. Files come nearest first, and within a directory
    /// the strongest last.
    pub(crate) fn add(&mut self, directory: &Path, value: T) {
        let known = self.0.as_ref();
        if known.is_none_or(|(nearest, _)| nearest == directory) {
            self.0 = Some((directory.to_owned(), value));
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref().map(|(_, value)| value)
    }
}
