//! What is made but not yet on disk.

use std::fs::File;
use std::path::PathBuf;

use crate::OsError;
use crate::disk::{flush_content, flush_directory};
use crate::file_system::is_in_memory;
use crate::parallel::in_parallel;

/// Changes that every process sees, and that a power cut may still undo. Dropped, they are left to the kernel, which
/// writes them within half a minute.
///
/// Each wait for a disk costs more than all other parts of a change. Changes that belong together are made first and
/// then waited for once, where the disk is slow at the same time: none of them needs another one to be there.
#[derive(Debug, Default)]
#[must_use = "until it is synced, a power cut may undo it"]
pub struct PendingSync {
    waits: Vec<Wait>,
    /// Files that were replaced, which the file system frees with this.
    freed: Vec<File>,
}

#[derive(Debug)]
enum Wait {
    /// Lines at the end of a file. They lie outside of a file system's journal, so no other wait is for them too.
    Lines(PathBuf, File),
    /// New entries in a directory.
    Entry(PathBuf, File),
}

impl Wait {
    fn file(&self) -> &File {
        let (Self::Lines(_, file) | Self::Entry(_, file)) = self;
        file
    }

    fn pass(&self) -> Result<(), OsError> {
        match self {
            Self::Lines(path, file) => flush_content(path, file, "sync"),
            Self::Entry(directory, opened) => flush_directory(directory, opened),
        }
    }

    /// Whether one wait is for both.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lines(ours, _), Self::Lines(theirs, _))
            | (Self::Entry(ours, _), Self::Entry(theirs, _)) => ours == theirs,
            _ => false,
        }
    }
}

impl PendingSync {
    /// Lines at the end of a file.
    pub(crate) fn appended(path: PathBuf, file: File) -> Self {
        Self::of(Wait::Lines(path, file))
    }

    /// New entries in a directory.
    pub(crate) fn entered(directory: PathBuf, opened: File) -> Self {
        Self::of(Wait::Entry(directory, opened))
    }

    fn of(wait: Wait) -> Self {
        Self {
            waits: vec![wait],
            freed: Vec::new(),
        }
    }

    /// With a file that was replaced.
    pub(crate) fn freeing(mut self, file: Option<File>) -> Self {
        self.freed.extend(file);
        self
    }

    /// Both, to be waited for together. What is the same file or directory is waited for once.
    pub fn and(mut self, other: Self) -> Self {
        for wait in other.waits {
            if !self.waits.iter().any(|known| known.covers(&wait)) {
                self.waits.push(wait);
            }
        }
        self.freed.extend(other.freed);
        self
    }

    /// Returns once everything is on disk.
    ///
    /// # Errors
    /// [`OsError::Io`] when the disk refuses: what was changed is in place for every reader, but may not outlive a power
    /// cut.
    pub fn sync(self) -> Result<(), OsError> {
        side_by_side(&self.waits, Wait::file, Wait::pass)
    }
}

/// Passes all waits at the same time, or as many as a disk takes together; tells the first failure. `file` is what a wait is for.
pub(crate) fn side_by_side<T: Sync>(
    all: &[T],
    file: impl Fn(&T) -> &File,
    pass: impl Fn(&T) -> Result<(), OsError> + Sync,
) -> Result<(), OsError> {
    match all {
        // A thread costs less than any disk, and more than none.
        [first, _, ..] if !is_in_memory(file(first)) => {
            let outcomes = in_parallel(all, pass);
            outcomes.into_iter().fold(Ok(()), Result::and)
        }
        _ => all.iter().map(pass).fold(Ok(()), Result::and),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_one_of_many_is_passed_once_and_a_failure_is_told() {
        let files: Vec<File> = (0..50).map(|_| tempfile::tempfile().unwrap()).collect();
        let times = AtomicUsize::new(0);
        let all: Vec<(usize, &File)> = files.iter().enumerate().collect();
        let pass = |(number, _): &(usize, &File)| {
            times.fetch_add(1, Ordering::SeqCst);
            if *number == 17 {
                let path = PathBuf::from("/seventeen");
                return Err(OsError::io(&path, "sync", std::io::ErrorKind::Other));
            }
            Ok(())
        };
        let told = side_by_side(&all, |one| one.1, pass).unwrap_err();
        assert!(told.to_string().contains("/seventeen"), "{told}");
        assert_eq!(
            times.into_inner(),
            50,
            "the others are waited for all the same"
        );
    }
}
