//! Removes stale lock directories. Between checking `F.lock` and removing it, another process may
//! have taken the lock. Processes that break a lock therefore take turns with a second directory,
//! `F.lock.breaking`, check the lock again during their turn, and move the old directory **into**
//! the second one. A process that was suspended for so long that its turn was removed cannot move
//! anything any more, because the kernel does not create entries in a removed directory.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::entry::{Protocol, TOO_YOUNG_TO_BE_BROKEN, remove, state_of};
use super::stale::{LockState, StaleWatch};
use crate::OsError;
use crate::contained::{identity, metadata_at, not_ours, retrying};
use crate::error::OnPath as _;

/// Name of the old lock directory inside the directory of the turn.
const MOVED: &str = "broken";

/// The attempts of one waiter to break a lock directory.
#[derive(Debug)]
pub(crate) struct Breaking {
    lock: PathBuf,
    turn: PathBuf,
    stale_turn: StaleWatch,
}

impl Breaking {
    pub(crate) fn of(lock: &Path) -> Self {
        let mut turn = OsString::from(lock);
        turn.push(".breaking");
        Self {
            lock: lock.to_owned(),
            turn: PathBuf::from(turn),
            stale_turn: StaleWatch::default(),
        }
    }

    /// Removes the lock directory if it is still the one that was `seen`. Returns `false` if it is
    /// not, or if another process has the turn; check again after a pause.
    pub(crate) fn try_at(&mut self, seen: LockState, protocol: Protocol) -> Result<bool, OsError> {
        match self.take_turn(protocol)? {
            Some(turn) => turn.break_lock(seen),
            None => Ok(false),
        }
    }

    fn take_turn(&mut self, protocol: Protocol) -> Result<Option<Turn<'_>>, OsError> {
        let began = Instant::now();
        let created = retrying(|| rustix::fs::mkdir(&self.turn, Mode::RWXU));
        match created.or_gone(&self.turn, "create the directory") {
            Err(OsError::Exists(_)) => {
                self.remove_stale_turn(protocol)?;
                return Ok(None);
            }
            created => created?,
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inside = match retrying(|| rustix::fs::open(&self.turn, flags, Mode::empty())) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => {
                remove(&self.turn)?;
                return Err(OsError::io(&self.turn, "open the directory", error));
            }
        };
        // After a long delay, the opened turn may be that of another process. If it is ours, it is
        // removed once it is stale.
        let is_ours = began.elapsed() < TOO_YOUNG_TO_BE_BROKEN;
        Ok(is_ours.then_some(Turn {
            lock: &self.lock,
            path: &self.turn,
            inside,
        }))
    }

    /// Removes the turn of a process that died or is suspended. Under the flock no other process
    /// can have it.
    fn remove_stale_turn(&mut self, protocol: Protocol) -> Result<(), OsError> {
        let Some(found) = metadata_at(&self.turn)? else {
            return Ok(());
        };
        if !found.is_dir() {
            return Err(not_ours(&self.turn, "it is not a directory; move it away"));
        }
        let is_stale = protocol == Protocol::UnderFlock
            || self
                .stale_turn
                .is_stale(state_of(&found), SystemTime::now(), Instant::now());
        if !is_stale {
            return Ok(());
        }
        remove(&self.turn.join(MOVED))?;
        match retrying(|| rustix::fs::rmdir(&self.turn)) {
            // Not empty: another process has its turn now.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(error) => Err(OsError::io(&self.turn, "remove the directory", error)),
        }
    }
}

/// The right to break the lock while the directory of the turn exists.
#[derive(Debug)]
struct Turn<'a> {
    lock: &'a Path,
    path: &'a Path,
    inside: File,
}

impl Turn<'_> {
    fn break_lock(&self, seen: LockState) -> Result<bool, OsError> {
        if metadata_at(self.lock)?.map(|there| state_of(&there)) != Some(seen) {
            return Ok(false);
        }
        self.move_in(seen)
    }

    fn move_in(&self, seen: LockState) -> Result<bool, OsError> {
        match retrying(|| rustix::fs::renameat(CWD, self.lock, &self.inside, MOVED)) {
            Ok(()) => {}
            // The owner released the lock, or the turn was removed.
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => {
                return Err(OsError::io(
                    self.lock,
                    "move away the lock directory",
                    error,
                ));
            }
        }
        if self.moved()? != Some(seen.identity) {
            self.put_back();
            return Ok(false);
        }
        match retrying(|| rustix::fs::unlinkat(&self.inside, MOVED, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(error) => {
                self.put_back();
                Err(OsError::io(self.lock, "remove the lock directory", error))
            }
        }
    }

    /// Returns the identity of the moved directory: another process may have taken the lock after
    /// the last check.
    fn moved(&self) -> Result<Option<(u64, u64)>, OsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened =
            retrying(|| rustix::fs::openat(&self.inside, MOVED, flags, Mode::empty())).ok();
        let metadata = opened.map(|descriptor| File::from(descriptor).metadata());
        let metadata = metadata.transpose().or_io(self.path, "inspect")?;
        Ok(metadata.as_ref().map(identity))
    }

    fn put_back(&self) {
        let flags = RenameFlags::NOREPLACE;
        let done =
            retrying(|| rustix::fs::renameat_with(&self.inside, MOVED, CWD, self.lock, flags));
        if let Err(error) = done {
            // The owner detects this before it writes.
            tracing::warn!(path = %self.lock.display(), %error, "removed a lock directory that is in use");
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Only contains an entry if the lock could not be put back.
        rustix::fs::unlinkat(&self.inside, MOVED, AtFlags::REMOVEDIR).ok();
        let ours = self.inside.metadata().as_ref().map(identity).ok();
        let there = fs::symlink_metadata(self.path).as_ref().map(identity).ok();
        if ours.is_some() && ours == there {
            rustix::fs::rmdir(self.path).ok();
        }
    }
}

#[cfg(test)]
#[path = "breaking_tests.rs"]
mod tests;
