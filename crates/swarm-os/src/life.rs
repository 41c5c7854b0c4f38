//! Life locks: a process keeps a file locked for as long as it runs. The kernel releases the lock
//! however the process dies, so there are no heartbeats and no pids that could be reused. The
//! holder takes the exclusive lock. Probes take the shared lock and release it immediately, because
//! two exclusive probes would mistake each other for the holder.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::OsError;
use crate::contained::{is_current, open_known, open_own, read_whole};
use crate::error::OnPath as _;
use crate::flock::{release, retrying_interrupted, was_free};
use crate::replace::{create_temporary, overwrite};
use crate::waiting::{Deadline, lock_within};

/// Timeout of a new holder, which waits for probes and for its dying predecessor to release the
/// lock.
const TAKE_WITHIN: Duration = Duration::from_secs(2);

/// Number of bytes of a life file that an error message quotes.
const QUOTED_BYTES: usize = 200;

/// The exclusive lock on a life file. Keep it until the process exits: dropping it releases the
/// lock, and the process counts as dead.
#[derive(Debug)]
pub struct LifeHolder {
    locked: File,
}

impl Drop for LifeHolder {
    fn drop(&mut self) {
        release(&self.locked);
    }
}

/// Whether the process that owns a life file is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// A process holds the lock.
    Alive,
    /// The file exists and is not locked.
    Dead,
    /// There is no life file: the member is not a swarm process, or it never started.
    Foreign,
}

impl LifeHolder {
    /// Takes the life lock, waiting up to 2 s, and writes `content` into the file. A new file (mode
    /// 0600) appears already locked and with its content; an existing file is reused, never
    /// replaced. Readers of the content take no lock: while it is being replaced, white space may
    /// follow it.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] if another process holds the lock, [`OsError::Gone`] if the
    /// directory is missing or the file was removed in the meantime.
    pub fn take(path: &Path, content: &[u8]) -> Result<Self, OsError> {
        loop {
            if let Some(file) = open_own(path, OFlags::RDWR)? {
                return Self::take_over(path, file, content);
            }
            if let Some(holder) = Self::create(path, content)? {
                return Ok(holder);
            }
        }
    }

    fn take_over(path: &Path, file: File, content: &[u8]) -> Result<Self, OsError> {
        lock_within(path, &file, Deadline::after(TAKE_WITHIN), quote)?;
        if !is_current(path, &file)? {
            return Err(OsError::gone(path));
        }
        overwrite(&file, content).or_io(path, "write")?;
        Ok(Self { locked: file })
    }

    /// Creates the file locked. Returns `None` if another process created it first.
    fn create(path: &Path, content: &[u8]) -> Result<Option<Self>, OsError> {
        let unnamed = create_temporary(path)?;
        retrying_interrupted(|| unnamed.as_file().lock()).or_io(path, "lock")?;
        overwrite(unnamed.as_file(), content).or_io(path, "write")?;
        match unnamed.persist_noclobber(path) {
            Ok(file) => Ok(Some(Self { locked: file })),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(failed) => Err(OsError::gone_or_io(path, "create", failed.error)),
        }
    }
}

/// Returns whether the owner of a life file is running. Takes the shared lock for a moment, and
/// never waits.
///
/// # Errors
/// [`OsError::NotOurs`] if the path is not a regular file of this user, [`OsError::Io`].
pub fn probe(path: &Path) -> Result<Liveness, OsError> {
    Ok(inspect(path)?.0)
}

/// Like [`probe`], and also returns the content of a running owner's file, read through the
/// descriptor that was probed. The content is `None` if the owner is not running or the file cannot
/// be read.
pub fn probe_and_read(path: &Path) -> Result<(Liveness, Option<Vec<u8>>), OsError> {
    let (found, held) = inspect(path)?;
    let content = held.and_then(|(file, length)| read_whole(path, &file, length).ok());
    Ok((found, content))
}

/// Returns whether the owner of a life file is running, and if so the file with its length in
/// bytes.
fn inspect(path: &Path) -> Result<(Liveness, Option<(File, u64)>), OsError> {
    loop {
        let Some((file, metadata)) = open_known(path, OFlags::RDONLY)? else {
            return Ok((Liveness::Foreign, None));
        };
        if !was_free(|| file.try_lock_shared()).or_io(path, "probe")? {
            return Ok((Liveness::Alive, Some((file, metadata.len()))));
        }
        release(&file);
        if is_current(path, &file)? {
            return Ok((Liveness::Dead, None));
        }
    }
}

/// Blocks in the kernel until the owner of a life file is dead. Returns immediately if it is dead
/// already. Run it on a dedicated thread: it cannot be cancelled. A successor that is already
/// waiting for the lock may take it first; the call then waits for the successor as well. Read the
/// content of the file to find out which process died.
///
/// # Errors
/// [`OsError::Gone`] if there is no life file or it was deleted.
pub fn wait_for_death(path: &Path) -> Result<(), OsError> {
    loop {
        let Some(file) = open_own(path, OFlags::RDONLY)? else {
            return Err(OsError::gone(path));
        };
        retrying_interrupted(|| file.lock_shared()).or_io(path, "wait on")?;
        release(&file);
        if is_current(path, &file)? {
            return Ok(());
        }
    }
}

fn quote(file: &File) -> String {
    let mut content = [0; QUOTED_BYTES];
    let read = file.read_at(&mut content, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&content[..read]);
    format!("the process recorded in it: {}", text.trim().escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_in_a_forked_child_does_not_keep_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("life");
        let holder = LifeHolder::take(&path, b"me").unwrap();
        // Like the copy in a forked child: another descriptor of the same open file.
        let _copy = holder.locked.try_clone().unwrap();
        assert_eq!(probe(&path).unwrap(), Liveness::Alive);
        drop(holder);
        assert_eq!(probe(&path).unwrap(), Liveness::Dead);
    }
}
