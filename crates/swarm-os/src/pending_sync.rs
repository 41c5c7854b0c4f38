//! Changes that are not on disk yet, and blocking work on several items in parallel.

use std::fs::File;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::OsError;
use crate::contained::open_directory;
use crate::disk::{flush_content, flush_directory};
use crate::file_system::is_in_memory;

/// Changes that are visible to every process, and that a power failure may still undo. If this is
/// dropped, the kernel writes them within half a minute. Waiting for the disk costs more than all
/// other parts of a change. Related changes that do not depend on each other are therefore made
/// first and then flushed together, in parallel.
#[derive(Debug, Default)]
#[must_use = "a power failure may undo the change until it is synced"]
pub struct PendingSync {
    waits: Vec<Wait>,
    /// Replaced files, which the file system frees when this is dropped.
    freed: Vec<File>,
}

#[derive(Debug)]
enum Wait {
    /// Lines appended to a file. They are not in the journal of the file system, so no other flush
    /// covers them.
    Lines(PathBuf, File),
    /// Changed entries of a directory.
    Entry(PathBuf, File),
}

impl Wait {
    fn file(&self) -> &File {
        let (Self::Lines(_, file) | Self::Entry(_, file)) = self;
        file
    }

    fn flush(&self) -> Result<(), OsError> {
        match self {
            Self::Lines(path, file) => flush_content(path, file, "sync"),
            Self::Entry(directory, opened) => flush_directory(directory, opened),
        }
    }

    /// Returns whether one flush covers both.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lines(ours, _), Self::Lines(theirs, _))
            | (Self::Entry(ours, _), Self::Entry(theirs, _)) => ours == theirs,
            _ => false,
        }
    }
}

impl PendingSync {
    /// The pending sync of appended lines.
    pub(crate) fn appended(path: PathBuf, file: File) -> Self {
        Self::of(Wait::Lines(path, file))
    }

    /// Changed entries of a directory.
    pub(crate) fn entered(directory: PathBuf, opened: File) -> Self {
        Self::of(Wait::Entry(directory, opened))
    }

    /// Everything that was changed in a directory.
    pub(crate) fn entered_in(directory: &Path) -> Result<Self, OsError> {
        Ok(Self::entered(
            directory.to_owned(),
            open_directory(directory)?,
        ))
    }

    fn of(wait: Wait) -> Self {
        Self {
            waits: vec![wait],
            freed: Vec::new(),
        }
    }

    /// Adds a replaced file, which is freed after the flush.
    pub(crate) fn freeing(mut self, file: Option<File>) -> Self {
        self.freed.extend(file);
        self
    }

    /// Combines two pending syncs. The same file or directory is flushed once.
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
    /// [`OsError::Io`] if the flush fails: the changes are visible, but a power failure may undo
    /// them.
    pub fn sync(self) -> Result<(), OsError> {
        flush_in_parallel(&self.waits, Wait::file, Wait::flush)
    }
}

/// Flushes all items in parallel and returns the first error. `file` returns the file of an item.
pub(crate) fn flush_in_parallel<T: Sync>(
    all: &[T],
    file: impl Fn(&T) -> &File,
    flush: impl Fn(&T) -> Result<(), OsError> + Sync,
) -> Result<(), OsError> {
    match all {
        // A thread costs less than a disk flush, and more than a flush in memory.
        [first, _, ..] if !is_in_memory(file(first)) => {
            let outcomes = in_parallel(all, flush);
            outcomes.into_iter().fold(Ok(()), Result::and)
        }
        _ => all.iter().map(flush).fold(Ok(()), Result::and),
    }
}

/// Maximum number of threads. The work mostly waits for a disk; 64 threads were not faster than 16.
const MAX_THREADS: usize = 16;

/// Runs `work` on each item in several threads and returns the results in the order of the items.
/// For work that waits. If no thread can be started, the calling thread does all of it.
pub fn in_parallel<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = all.get(index) else {
                return done;
            };
            done.push((index, work(item)));
        }
    };
    let extra_threads = all.len().min(MAX_THREADS).saturating_sub(1);
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (0..extra_threads)
            .map_while(|_| {
                let thread = thread::Builder::new().name("in parallel".to_owned());
                thread.spawn_scoped(scope, run).ok()
            })
            .collect();
        threads.into_iter().fold(run(), |mut done, thread| {
            done.extend(thread.join().unwrap_or_else(|cause| resume_unwind(cause)));
            done
        })
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_directory_with_several_changes_is_flushed_once() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let changed = |directory: &Path| PendingSync::entered_in(directory).unwrap();
        let twice = changed(one.path()).and(changed(one.path()));
        assert_eq!(twice.waits.len(), 1);
        assert_eq!(twice.and(changed(other.path())).waits.len(), 2);
    }

    #[test]
    fn each_item_is_flushed_once_and_a_failure_is_returned() {
        let disk = tempfile::tempdir().unwrap();
        // In memory without threads.
        for directory in [disk.path(), Path::new("/dev/shm")] {
            let file = |_| tempfile::tempfile_in(directory).unwrap();
            let files: Vec<File> = (0..50).map(file).collect();
            let times = AtomicUsize::new(0);
            let all: Vec<(usize, &File)> = files.iter().enumerate().collect();
            let flush = |(number, _): &(usize, &File)| {
                times.fetch_add(1, Ordering::SeqCst);
                if *number == 17 {
                    let path = PathBuf::from("/seventeen");
                    return Err(OsError::io(&path, "sync", std::io::ErrorKind::Other));
                }
                Ok(())
            };
            let error = flush_in_parallel(&all, |one| one.1, flush).unwrap_err();
            assert!(error.to_string().contains("/seventeen"), "{error}");
            assert_eq!(times.into_inner(), 50, "the others are flushed too");
        }
    }

    #[test]
    fn processes_each_item_once_and_returns_results_in_order() {
        let items: Vec<usize> = (0..100).collect();
        let times = AtomicUsize::new(0);
        let doubled = in_parallel(&items, |item| {
            times.fetch_add(1, Ordering::SeqCst);
            item * 2
        });
        assert_eq!(
            doubled,
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert_eq!(times.into_inner(), items.len());
        assert!(in_parallel(&[] as &[u8], |_| ()).is_empty());
    }
}
