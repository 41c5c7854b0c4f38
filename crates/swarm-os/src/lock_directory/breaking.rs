//! Breaking a lock directory that was left behind.
//!
//! Whoever looks at `F.lock` and then removes it may remove what somebody else has made in between. So those who would
//! break one take turns by a second directory, `F.lock.breaking`, look again when it is their turn, and move the old
//! directory **into** that one. A breaker that stood still for so long that its turn was taken away can move
//! nothing any more, because the kernel lets nothing into a directory that was removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::entry::{Protocol, TOO_YOUNG_TO_BE_BROKEN, look, look_at, remove};
use super::stale::{Look, StaleWatch};
use crate::OsError;
use crate::contained::{identity, not_ours, retrying};

/// What the old directory is called while it lies in the one of the turn.
const MOVED: &str = "broken";

/// The turns at breaking one lock directory, as one waiter sees them.
#[derive(Debug)]
pub(crate) struct Breaking<'a> {
    lock: &'a Path,
    turn: PathBuf,
    left: StaleWatch,
}

impl<'a> Breaking<'a> {
    pub(crate) fn of(lock: &'a Path) -> Self {
        let mut turn = OsString::from(lock);
        turn.push(".breaking");
        Self {
            lock,
            turn: PathBuf::from(turn),
            left: StaleWatch::default(),
        }
    }

    /// Removes the lock directory if it is still what was `seen`. `false` when it is not, and when another one is
    /// at it: look again after a pause.
    pub(crate) fn try_at(&mut self, seen: Look, protocol: Protocol) -> Result<bool, OsError> {
        let lock = self.lock;
        match self.take_turn(protocol)? {
            Some(turn) => turn.break_it(lock, seen),
            None => Ok(false),
        }
    }

    fn take_turn(&mut self, protocol: Protocol) -> Result<Option<Turn<'_>>, OsError> {
        let began = Instant::now();
        match retrying(|| rustix::fs::mkdir(&self.turn, Mode::RWXU)) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                self.clear_left(protocol)?;
                return Ok(None);
            }
            Err(error) => {
                return Err(OsError::gone_or_io(&self.turn, "make the directory", error));
            }
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
        // After so long it may be another one's turn that was opened. If it is ours, it is cleared once it is old.
        let is_ours = began.elapsed() < TOO_YOUNG_TO_BE_BROKEN;
        Ok(is_ours.then_some(Turn {
            path: &self.turn,
            inside,
        }))
    }

    /// Takes the turn away from one that died or stands still. Under the flock nobody else can be at it.
    fn clear_left(&mut self, protocol: Protocol) -> Result<(), OsError> {
        let Some(found) = look_at(&self.turn)? else {
            return Ok(());
        };
        if !found.is_dir() {
            return Err(not_ours(&self.turn, "it is not a directory; move it away"));
        }
        let is_left = protocol == Protocol::UnderFlock
            || self
                .left
                .is_stale(look(&found), SystemTime::now(), Instant::now());
        if !is_left {
            return Ok(());
        }
        remove(&self.turn.join(MOVED))?;
        match retrying(|| rustix::fs::rmdir(&self.turn)) {
            // Not empty: the next one's turn has begun.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(error) => Err(OsError::io(&self.turn, "remove the directory", error)),
        }
    }
}

/// The right to break, for as long as its directory is there.
#[derive(Debug)]
struct Turn<'a> {
    path: &'a Path,
    inside: File,
}

impl Turn<'_> {
    fn break_it(&self, lock: &Path, seen: Look) -> Result<bool, OsError> {
        if look_at(lock)?.map(|there| look(&there)) != Some(seen) {
            return Ok(false);
        }
        self.move_in(lock, seen)
    }

    fn move_in(&self, lock: &Path, seen: Look) -> Result<bool, OsError> {
        match retrying(|| rustix::fs::renameat(CWD, lock, &self.inside, MOVED)) {
            Ok(()) => {}
            // Its owner let go of it, or our turn is over.
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(OsError::io(lock, "move away the lock directory", error)),
        }
        if self.moved()? != Some(seen.identity) {
            self.put_back(lock);
            return Ok(false);
        }
        match retrying(|| rustix::fs::unlinkat(&self.inside, MOVED, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(error) => {
                self.put_back(lock);
                Err(OsError::io(lock, "remove the lock directory", error))
            }
        }
    }

    /// Which directory was moved: between the last look and the move it may have become another one's.
    fn moved(&self) -> Result<Option<(u64, u64)>, OsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened =
            retrying(|| rustix::fs::openat(&self.inside, MOVED, flags, Mode::empty())).ok();
        let metadata = opened.map(|descriptor| File::from(descriptor).metadata());
        let metadata = metadata
            .transpose()
            .map_err(|error| OsError::io(self.path, "look into", error))?;
        Ok(metadata.as_ref().map(identity))
    }

    fn put_back(&self, lock: &Path) {
        let flags = RenameFlags::NOREPLACE;
        let done = retrying(|| rustix::fs::renameat_with(&self.inside, MOVED, CWD, lock, flags));
        if let Err(error) = done {
            // Its owner finds out before it writes.
            tracing::warn!(path = %lock.display(), %error, "a lock directory was taken from its owner");
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // There is something in it only if it could not be put back.
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
