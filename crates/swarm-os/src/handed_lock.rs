//! A lock that child programs keep after this process has exited.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::contained::{is_current, open_own};
use crate::error::OnPath as _;
use crate::holder;
use crate::private::create_private_file;
use crate::waiting::{Deadline, lock_within};
use crate::{LockInterrupt, OsError};

/// An exclusive flock whose descriptor child programs can inherit: the kernel releases it when the
/// last of them has exited, so that no program of the previous holder is still running when the
/// next one takes the lock. The holder may remove the file with [`InheritableLock::retire`];
/// waiting processes then create a new one.
#[derive(Debug)]
pub struct InheritableLock {
    file: File,
    path: PathBuf,
}

impl InheritableLock {
    /// Takes the lock, creating the file (mode 0600) if it is missing. Blocks.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] at the deadline, [`OsError::Gone`] if the directory is missing.
    pub fn take(path: &Path, wait: Duration) -> Result<Self, OsError> {
        Self::take_until(path, Deadline::after(wait))
    }

    /// Like [`InheritableLock::take`], but an interrupt ends the wait too.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] at the deadline or after the interrupt, [`OsError::Gone`] if the
    /// directory is missing.
    pub fn take_unless(
        path: &Path,
        wait: Duration,
        interrupt: &LockInterrupt,
    ) -> Result<Self, OsError> {
        Self::take_until(path, Deadline::after(wait).or_interrupt(Some(interrupt)))
    }

    fn take_until(path: &Path, deadline: Deadline<'_>) -> Result<Self, OsError> {
        loop {
            let file = open_or_create(path)?;
            lock_within(path, &file, deadline, holder::describe)?;
            // The previous holder may have removed the file in the meantime.
            if is_current(path, &file)? {
                holder::record_holder(&file);
                return Ok(Self {
                    file,
                    path: path.to_owned(),
                });
            }
        }
    }

    /// Takes the lock without waiting. Returns `None` if it is held.
    ///
    /// # Errors
    /// [`OsError::Gone`] if the directory is missing.
    pub fn try_take(path: &Path) -> Result<Option<Self>, OsError> {
        match Self::take(path, Duration::ZERO) {
            Err(OsError::LockTimeout { .. }) => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// Returns a second descriptor of the same open file, for a program that keeps the lock while
    /// it runs.
    ///
    /// # Errors
    /// [`OsError::Io`] if the process has no free descriptor.
    pub fn descriptor_for_child(&self) -> Result<File, OsError> {
        let copy = self.file.try_clone();
        copy.or_io(&self.path, "duplicate the descriptor of the lock")
    }

    /// Removes the lock file and releases the lock, once there is nothing left to protect.
    pub fn retire(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "lock file not removed");
        }
    }
}

fn open_or_create(path: &Path) -> Result<File, OsError> {
    loop {
        if let Some(file) = open_own(path, OFlags::RDWR)? {
            return Ok(file);
        }
        match create_private_file(path) {
            Ok(()) | Err(OsError::Exists(_)) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_program_keeps_the_lock_after_its_parent_released_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = InheritableLock::take(&path, Duration::ZERO).unwrap();
        let mut child = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::from(lock.descriptor_for_child().unwrap()))
            .spawn()
            .unwrap();
        drop(lock);
        assert!(InheritableLock::try_take(&path).unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(InheritableLock::try_take(&path).unwrap().is_some());
    }

    #[test]
    fn retiring_a_lock_removes_its_file_and_it_can_be_taken_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        InheritableLock::take(&path, Duration::ZERO)
            .unwrap()
            .retire();
        assert!(!path.exists());
        assert!(InheritableLock::try_take(&path).unwrap().is_some());
    }
}
