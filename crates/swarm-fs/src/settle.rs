//! What is made but not yet on disk.

use std::fs::File;
use std::path::PathBuf;

use crate::FsError;

/// Changes that every process sees, and that a power cut may still undo. Dropped, they are left to the kernel, which
/// writes them within half a minute.
///
/// Each wait for a disk costs more than all other parts of a change. Changes that belong together are made first and
/// then waited for once: a file system with a journal writes them together, so only the first wait is long.
#[derive(Debug, Default)]
#[must_use = "until it is settled, a power cut may undo it"]
pub struct Unsettled {
    logs: Vec<(PathBuf, File)>,
    folders: Vec<(PathBuf, File)>,
}

impl Unsettled {
    /// Lines at the end of a file.
    pub(crate) fn appended(path: PathBuf, file: File) -> Self {
        Self {
            logs: vec![(path, file)],
            ..Self::default()
        }
    }

    /// A new entry in a folder.
    pub(crate) fn entered(folder: PathBuf, opened: File) -> Self {
        Self {
            folders: vec![(folder, opened)],
            ..Self::default()
        }
    }

    /// Both, to be waited for together.
    pub fn and(mut self, other: Self) -> Self {
        self.logs.extend(other.logs);
        self.folders.extend(other.folders);
        self
    }

    /// Returns once everything is on disk.
    ///
    /// # Errors
    /// [`FsError::Io`] when the disk refuses: what was changed is in place for every reader, but may not outlive a power
    /// cut.
    pub fn settle(self) -> Result<(), FsError> {
        // What was appended lies outside of the journal, so its wait cannot be spared.
        for (path, file) in self.logs {
            file.sync_data()
                .map_err(|error| FsError::io(&path, "sync", error))?;
        }
        for (path, opened) in self.folders {
            opened
                .sync_all()
                .map_err(|error| FsError::io(&path, "sync the folder", error))?;
        }
        Ok(())
    }
}
