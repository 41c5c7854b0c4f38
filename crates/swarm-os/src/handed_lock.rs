//! A lock that outlives this process as long as a program that was started under it still runs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::OsError;
use crate::contained::{identity, open_own};
use crate::holder;
use crate::private::create_private_file;
use crate::waiting::{Deadline, lock_exclusive};

/// An exclusive flock whose open file can be handed to child programs: the kernel frees it when the last of them is
/// gone, so that whoever gets it next finds none of the former holder's programs still at work.
///
/// The file may be removed by its holder, [`HandedLock::retire`]; who waited for it then makes a new one.
#[derive(Debug)]
pub struct HandedLock {
    file: File,
    path: PathBuf,
}

impl HandedLock {
    /// Takes the lock, making the file (mode 0600) where it is missing. Blocks.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] at the deadline, [`OsError::Gone`] if the directory is missing.
    pub fn take(path: &Path, wait: Duration) -> Result<Self, OsError> {
        let deadline = Deadline::after(wait);
        loop {
            let file = open_or_make(path)?;
            let locked = lock_exclusive(&file, deadline)
                .map_err(|error| OsError::io(path, "lock", error))?;
            if !locked {
                return Err(OsError::LockTimeout {
                    path: path.to_owned(),
                    holder: holder::describe(&file),
                    waited: deadline.waited(),
                });
            }
            // Its last holder may have removed it meanwhile.
            if in_place(path, &file)? {
                holder::sign(&file);
                return Ok(Self {
                    file,
                    path: path.to_owned(),
                });
            }
        }
    }

    /// The same without waiting: `None` when somebody has it.
    ///
    /// # Errors
    /// [`OsError::Gone`] if the directory is missing.
    pub fn try_take(path: &Path) -> Result<Option<Self>, OsError> {
        match Self::take(path, Duration::ZERO) {
            Err(OsError::LockTimeout { .. }) => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// A second descriptor of the same open file, for a program that shall keep the lock while it runs.
    ///
    /// # Errors
    /// [`OsError::Io`] when the process has no descriptor left.
    pub fn for_program(&self) -> Result<File, OsError> {
        let copy = self.file.try_clone();
        copy.map_err(|error| OsError::io(&self.path, "hand on the lock", error))
    }

    /// Lets go of the lock and removes its file: there is nothing left that it could guard.
    pub fn retire(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "lock file not removed");
        }
    }
}

fn open_or_make(path: &Path) -> Result<File, OsError> {
    loop {
        if let Some(file) = open_own(path, OFlags::RDWR)? {
            return Ok(file);
        }
        match create_private_file(path) {
            Ok(()) | Err(OsError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

fn in_place(path: &Path, file: &File) -> Result<bool, OsError> {
    let locked = file
        .metadata()
        .map_err(|error| OsError::io(path, "look at", error))?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(identity(&there) == identity(&locked)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OsError::io(path, "look at", error)),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_program_keeps_the_lock_after_its_starter_let_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = HandedLock::take(&path, Duration::ZERO).unwrap();
        let mut child = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::from(lock.for_program().unwrap()))
            .spawn()
            .unwrap();
        drop(lock);
        assert!(HandedLock::try_take(&path).unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(HandedLock::try_take(&path).unwrap().is_some());
    }

    #[test]
    fn a_retired_lock_leaves_no_file_and_can_be_taken_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        HandedLock::take(&path, Duration::ZERO).unwrap().retire();
        assert!(!path.exists());
        assert!(HandedLock::try_take(&path).unwrap().is_some());
    }
}
