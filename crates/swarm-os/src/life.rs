//! Life locks: a file that a process keeps locked for as long as it lives.
//!
//! The kernel lets go of the lock at any death, so there are no heartbeats and no pid to be mistaken. The
//! holder's lock is exclusive; everybody else takes the shared lock only and lets go at once, because two
//! exclusive probes would take each other for life.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::oneshot;

use crate::OsError;
use crate::contained::{identity, open_known, open_own, read_whole};
use crate::replace::{empty_beside, overwrite};
use crate::waiting::{Deadline, lock_exclusive, retrying_interrupted};

/// How long a new holder waits for probes, and for its dying predecessor, to let go.
const TAKE_WITHIN: Duration = Duration::from_secs(2);

/// How much of a life file an error message quotes.
const QUOTED_BYTES: usize = 200;

/// The exclusive lock on a life file. Keep it until the process ends; dropping it is dying.
#[derive(Debug)]
pub struct LifeHolder {
    locked: File,
}

impl Drop for LifeHolder {
    fn drop(&mut self) {
        release(&self.locked);
    }
}

/// What a life file tells about its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Somebody holds the lock.
    Alive,
    /// The file is there and nobody holds it.
    Dead,
    /// There is no life file: the member is not a swarm process, or never started.
    Foreign,
}

impl LifeHolder {
    /// Takes the life lock, waiting up to 2 s for it, and then writes `content` into the file. A file that is
    /// not there yet appears already locked and with its content, mode 0600; one that is there is kept, never
    /// replaced. Readers of the content take no lock: while it changes hands, white space may follow it.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] if another process lives by this file, [`OsError::Gone`] if the directory is missing or
    /// the file was removed meanwhile.
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
        let deadline = Deadline::after(TAKE_WITHIN);
        let locked =
            lock_exclusive(&file, deadline).map_err(|error| OsError::io(path, "lock", error))?;
        if !locked {
            return Err(OsError::LockTimeout {
                path: path.to_owned(),
                holder: quote(&file),
                waited: deadline.waited(),
            });
        }
        if !is_in_place(path, &file)? {
            return Err(OsError::Gone {
                path: path.to_owned(),
            });
        }
        overwrite(&file, content).map_err(|error| OsError::io(path, "write", error))?;
        Ok(Self { locked: file })
    }

    /// `None` if another process was faster.
    fn create(path: &Path, content: &[u8]) -> Result<Option<Self>, OsError> {
        let unnamed = empty_beside(path)?;
        retrying_interrupted(|| unnamed.as_file().lock())
            .map_err(|error| OsError::io(path, "lock", error))?;
        overwrite(unnamed.as_file(), content).map_err(|error| OsError::io(path, "write", error))?;
        match unnamed.persist_noclobber(path) {
            Ok(file) => Ok(Some(Self { locked: file })),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(failed) => Err(OsError::gone_or_io(path, "make", failed.error)),
        }
    }
}

/// Whether the owner of a life file lives. Takes the shared lock for a moment, and never waits.
///
/// # Errors
/// [`OsError::NotOurs`] for a symbolic link and the like, [`OsError::Io`].
pub fn probe(path: &Path) -> Result<Liveness, OsError> {
    Ok(look(path)?.0)
}

/// The same, with what a living owner has written into its file: the very file that was probed, opened once. `None` for
/// the content where nobody lives or it cannot be read.
///
/// # Errors
/// As [`probe`].
pub fn probe_and_read(path: &Path) -> Result<(Liveness, Option<Vec<u8>>), OsError> {
    let (found, held) = look(path)?;
    let content = held.and_then(|(file, length)| read_whole(path, &file, length).ok());
    Ok((found, content))
}

/// Whether the owner of a life file lives, and if so the file with its length.
fn look(path: &Path) -> Result<(Liveness, Option<(File, u64)>), OsError> {
    loop {
        let Some((file, metadata)) = open_known(path, OFlags::RDONLY)? else {
            return Ok((Liveness::Foreign, None));
        };
        let is_free = retrying_interrupted(|| match file.try_lock_shared() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        })
        .map_err(|error| OsError::io(path, "probe", error))?;
        if !is_free {
            return Ok((Liveness::Alive, Some((file, metadata.len()))));
        }
        release(&file);
        if is_in_place(path, &file)? {
            return Ok((Liveness::Dead, None));
        }
    }
}

/// Blocks until the owner of a life file is dead; the kernel wakes it. At once if it is dead already. Give it
/// a plain thread of its own: it cannot be called off.
///
/// A successor that is already waiting for the lock may get it first, and is then waited for too: read the
/// content of the file to know whose death it was.
///
/// # Errors
/// [`OsError::Gone`] if there is no life file, or it was deleted with its team.
pub fn wait_for_death(path: &Path) -> Result<(), OsError> {
    loop {
        let Some(file) = open_own(path, OFlags::RDONLY)? else {
            return Err(OsError::Gone {
                path: path.to_owned(),
            });
        };
        retrying_interrupted(|| file.lock_shared())
            .map_err(|error| OsError::io(path, "wait on", error))?;
        release(&file);
        if is_in_place(path, &file)? {
            return Ok(());
        }
    }
}

/// A future for the same. One plain thread for each waits in the kernel, until the owner is dead.
pub fn death(path: PathBuf) -> oneshot::Receiver<Result<(), OsError>> {
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        // Nobody may be listening any more; then nobody wants to know.
        drop(tell.send(wait_for_death(&path)));
    });
    told
}

/// Releases a lock before its descriptor is closed. A child that another thread has just forked holds a copy of the
/// descriptor until it calls `exec`, and closing ours alone would leave the lock with that child.
fn release(file: &File) {
    if let Err(error) = file.unlock() {
        tracing::debug!(%error, "life lock not released before its descriptor is closed");
    }
}

fn is_in_place(path: &Path, file: &File) -> Result<bool, OsError> {
    let locked = file
        .metadata()
        .map_err(|error| OsError::io(path, "look at", error))?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(identity(&there) == identity(&locked)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OsError::io(path, "look at", error)),
    }
}

fn quote(file: &File) -> String {
    let mut content = [0; QUOTED_BYTES];
    let read = file.read_at(&mut content, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&content[..read]);
    format!(
        "the process that lives by it: {}",
        text.trim().escape_debug()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_in_a_forked_child_does_not_keep_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("life");
        let holder = LifeHolder::take(&path, b"me").unwrap();
        // Like the copy that a fork makes: another descriptor of the same open file.
        let _copy = holder.locked.try_clone().unwrap();
        assert_eq!(probe(&path).unwrap(), Liveness::Alive);
        drop(holder);
        assert_eq!(probe(&path).unwrap(), Liveness::Dead);
    }
}
