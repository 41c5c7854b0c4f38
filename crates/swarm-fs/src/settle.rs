//! What is made but not yet on disk.

use std::fs::File;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread;

use crate::FsError;
use crate::support::is_in_memory;

/// Changes that every process sees, and that a power cut may still undo. Dropped, they are left to the kernel, which
/// writes them within half a minute.
///
/// Each wait for a disk costs more than all other parts of a change. Changes that belong together are made first and
/// then waited for once, where the disk is slow at the same time: none of them needs another one to be there.
#[derive(Debug, Default)]
#[must_use = "until it is settled, a power cut may undo it"]
pub struct Unsettled(Vec<Wait>);

#[derive(Debug)]
enum Wait {
    /// Lines at the end of a file. They lie outside of a file system's journal, so no other wait is for them too.
    Lines(PathBuf, File),
    /// A new entry in a folder.
    Entry(PathBuf, File),
}

impl Wait {
    fn is_in_memory(&self) -> bool {
        let (Self::Lines(_, file) | Self::Entry(_, file)) = self;
        is_in_memory(file)
    }

    fn pass(&self) -> Result<(), FsError> {
        match self {
            Self::Lines(path, file) => file
                .sync_data()
                .map_err(|error| FsError::io(path, "sync", error)),
            Self::Entry(folder, opened) => opened
                .sync_all()
                .map_err(|error| FsError::io(folder, "sync the folder", error)),
        }
    }
}

impl Unsettled {
    /// Lines at the end of a file.
    pub(crate) fn appended(path: PathBuf, file: File) -> Self {
        Self::of(Wait::Lines(path, file))
    }

    /// A new entry in a folder.
    pub(crate) fn entered(folder: PathBuf, opened: File) -> Self {
        Self::of(Wait::Entry(folder, opened))
    }

    fn of(wait: Wait) -> Self {
        Self(vec![wait])
    }

    /// Both, to be waited for together.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Returns once everything is on disk.
    ///
    /// # Errors
    /// [`FsError::Io`] when the disk refuses: what was changed is in place for every reader, but may not outlive a power
    /// cut.
    pub fn settle(self) -> Result<(), FsError> {
        match self.0.as_slice() {
            // A thread costs less than any disk, and more than none.
            [first, _, ..] if !first.is_in_memory() => side_by_side(&self.0),
            waits => waits.iter().try_for_each(Wait::pass),
        }
    }
}

/// Passes all waits at the same time; the last that fails has its say.
fn side_by_side<'a>(waits: &'a [Wait]) -> Result<(), FsError> {
    let Some((own, others)) = waits.split_last() else {
        return Ok(());
    };
    thread::scope(|scope| {
        let begin = |wait: &'a Wait| {
            let thread = thread::Builder::new().name("waits for the disk".to_owned());
            let passing = thread.spawn_scoped(scope, move || wait.pass());
            passing.map_err(|_no_thread_to_be_had| wait)
        };
        let passing: Vec<_> = others.iter().map(begin).collect();
        passing.into_iter().fold(own.pass(), |so_far, other| {
            so_far.and(match other {
                Ok(thread) => thread.join().unwrap_or_else(|cause| resume_unwind(cause)),
                Err(wait) => wait.pass(),
            })
        })
    })
}
