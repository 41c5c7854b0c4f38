//! The lock directory `F.lock` beside a data file `F`: the protocol of npm's proper-lockfile, which Claude Code
//! locks by.
//!
//! Made by `mkdir`, released by `rmdir`, stale when not refreshed. Under the sidecar's flock ours carry
//! the sticky bit, set by the very call that makes them. So whoever has the flock and finds one with that mark
//! knows that its maker is dead, and need not wait for it to grow old.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::breaking::Breaking;
use super::entry::{
    JUST_REFRESHED, Protocol, TOO_YOUNG_TO_BE_BROKEN, look, look_at, refresh, remove,
};
use super::refresher::Refresher;
use super::stale::StaleWatch;
use crate::OsError;
use crate::contained::{hold, identity, own_user, retrying};
use crate::replace::sweep_attempts_on;
use crate::waiting::{Deadline, back_off};

/// How long to wait between two looks at a foreign lock directory: first and longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// A lock directory that this process made. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct LockDir {
    data: PathBuf,
    path: PathBuf,
    /// Which directory was made. Another one may get its inode number once it is gone, but not our mark: that is made
    /// under the flock alone. Where there is no mark, the refresher keeps the directory open.
    made: (u64, u64),
    /// Whether a dead process of ours had left it.
    follows_the_dead: bool,
    /// Whether it was taken only after another program had let go of it.
    waited: bool,
    refresher: Option<Refresher>,
    is_released: bool,
}

impl LockDir {
    /// Takes the lock directory of `data`.
    pub(crate) fn take(
        data: &Path,
        protocol: Protocol,
        deadline: Deadline<'_>,
    ) -> Result<Self, OsError> {
        let path = lock_path(data);
        let mut stale = StaleWatch::default();
        let mut breaking = Breaking::of(&path);
        let mut pause = PAUSES.0;
        let mut follows_the_dead = false;
        loop {
            if let Some(mut taken) = Self::try_take(data, &path, protocol)? {
                taken.follows_the_dead = follows_the_dead;
                taken.waited = pause > PAUSES.0;
                return Ok(taken);
            }
            let Some(found) = look_at(&path)? else {
                continue;
            };
            if protocol == Protocol::UnderFlock && is_our_mark(&found) {
                tracing::debug!(path = %path.display(), "removing the lock of a dead process");
                remove(&path)?;
                sweep_attempts_on(data)?;
                follows_the_dead = true;
                continue;
            }
            let seen = look(&found);
            if found.is_dir()
                && stale.is_stale(seen, SystemTime::now(), Instant::now())
                && breaking.try_at(seen, protocol)?
            {
                tracing::warn!(path = %path.display(), "removed a stale lock directory");
                continue;
            }
            if deadline.is_over() {
                return Err(deadline.missed(&path, || describe(&found)));
            }
            back_off(pause, deadline);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// One attempt; `None` if the directory is taken.
    fn try_take(data: &Path, path: &Path, protocol: Protocol) -> Result<Option<Self>, OsError> {
        let permissions = match protocol {
            Protocol::UnderFlock => Mode::RWXU | Mode::SVTX,
            Protocol::DirectoryOnly => Mode::RWXU,
        };
        let began = Instant::now();
        match retrying(|| rustix::fs::mkdir(path, permissions)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(None),
            Err(error) => {
                return Err(OsError::gone_or_io(path, "make the lock directory", error));
            }
        }
        let looked = match look_at(path) {
            Ok(looked) => looked,
            Err(error) => {
                remove(path)?;
                return Err(error);
            }
        };
        // We stood still, and another program broke it.
        let Some(made) = looked else {
            return Ok(None);
        };
        let may_be_anothers = began.elapsed() > TOO_YOUNG_TO_BE_BROKEN;
        if protocol == Protocol::DirectoryOnly && may_be_anothers {
            // If it is ours all the same, nobody refreshes it, and it is broken like any that was left behind.
            return Ok(None);
        }
        // The file system does not keep the mark, or it is another program's directory by now.
        if protocol == Protocol::UnderFlock && !is_our_mark(&made) {
            if may_be_anothers {
                return Ok(None);
            }
            remove(path)?;
            return Err(OsError::io(
                path,
                "mark the lock directory",
                Errno::OPNOTSUPP,
            ));
        }
        let made = identity(&made);
        let refresher = match protocol {
            Protocol::UnderFlock => None,
            Protocol::DirectoryOnly => match open_made(path, made) {
                Ok(Some(opened)) => Some(Refresher::start(path, opened)?),
                Ok(None) => return Ok(None),
                Err(error) => {
                    remove(path)?;
                    return Err(error);
                }
            },
        };
        Ok(Some(Self {
            data: data.to_owned(),
            path: path.to_owned(),
            made,
            follows_the_dead: false,
            waited: false,
            refresher,
            is_released: false,
        }))
    }

    /// Makes sure that nobody broke this lock, and that nobody will within the next seconds: call it right
    /// before what must not happen without the lock.
    pub(crate) fn confirm(&self) -> Result<(), OsError> {
        let there = self.look()?;
        if self.refresher.is_none() && was_just_refreshed(&there) {
            return Ok(());
        }
        let opened = open_made(&self.path, self.made)?.ok_or_else(|| self.lost())?;
        refresh(&opened)
            .map_err(|error| OsError::io(&self.path, "refresh the lock directory", error))?;
        self.look().map(drop)
    }

    /// The directory at its place, if it is still ours.
    fn look(&self) -> Result<Metadata, OsError> {
        let there = look_at(&self.path)?.filter(|there| self.is_ours(there));
        there.ok_or_else(|| self.lost())
    }

    fn is_ours(&self, there: &Metadata) -> bool {
        identity(there) == self.made && (self.refresher.is_some() || is_our_mark(there))
    }

    fn lost(&self) -> OsError {
        OsError::LockLost {
            path: self.path.clone(),
        }
    }

    /// Whether the last one of ours that had it was killed with it.
    pub(crate) fn follows_the_dead(&self) -> bool {
        self.follows_the_dead
    }

    /// Whether another program had it when it was asked for.
    pub(crate) fn was_waited_for(&self) -> bool {
        self.waited
    }

    /// Whether this directory locks a file.
    pub(crate) fn locks(&self, data: &Path) -> bool {
        self.data.as_os_str() == data.as_os_str()
    }

    /// Releases the lock. Returns the removed directory. The file system frees it when it is dropped, which can take as long as
    /// a flush: drop it when nobody waits for it.
    pub(crate) fn release(mut self) -> Option<File> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> Option<File> {
        if std::mem::replace(&mut self.is_released, true) {
            return None;
        }
        // One more time: left behind, it keeps other programs out until it is old.
        let removed = match self.remove() {
            Err(OsError::Io { .. }) => self.remove(),
            done => done,
        };
        removed
            .inspect_err(|error| tracing::warn!(%error, "could not release a lock directory"))
            .ok()
    }

    fn remove(&self) -> Result<File, OsError> {
        // Held while it is removed: the file system then frees it without keeping others from the directory.
        let there = hold(&self.path)?.ok_or_else(|| self.lost())?;
        let found = there
            .metadata()
            .map_err(|error| OsError::io(&self.path, "look at", error))?;
        if !self.is_ours(&found) {
            return Err(self.lost());
        }
        remove(&self.path)?;
        Ok(there)
    }
}

impl Drop for LockDir {
    fn drop(&mut self) {
        self.remove_once();
    }
}

/// Removes the lock directories in `directory` that bear our mark, but for those of `held`. Only for the holder of the one
/// sidecar that guards the whole directory: then their makers are dead.
pub(crate) fn sweep_marks(directory: &Path, held: &[LockDir]) -> Result<usize, OsError> {
    let entries =
        fs::read_dir(directory).map_err(|error| OsError::gone_or_io(directory, "list", error))?;
    let mut removed = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        let is_lock = path.extension().is_some_and(|end| end == "lock");
        if !is_lock || held.iter().any(|taken| taken.path == path) {
            continue;
        }
        if look_at(&path)?.is_some_and(|found| is_our_mark(&found)) {
            remove(&path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// `F.lock` for `F`.
fn lock_path(data: &Path) -> PathBuf {
    let mut path = OsString::from(data);
    path.push(".lock");
    PathBuf::from(path)
}

fn is_our_mark(found: &Metadata) -> bool {
    found.is_dir() && found.mode() & Mode::SVTX.as_raw_mode() != 0 && found.uid() == own_user()
}

/// Opens the lock directory that was made; `None` if another program broke it since.
fn open_made(path: &Path, made: (u64, u64)) -> Result<Option<File>, OsError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |error| OsError::io(path, "open the lock directory", error);
    let opened = match retrying(|| rustix::fs::open(path, flags, Mode::empty())) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    };
    let found = opened.metadata().map_err(failed)?;
    Ok((identity(&found) == made).then_some(opened))
}

/// Whether a lock directory is so young that nobody breaks it within the next seconds.
fn was_just_refreshed(found: &Metadata) -> bool {
    let age = found.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age < JUST_REFRESHED)
}

fn describe(found: &Metadata) -> String {
    if !found.is_dir() {
        return "something that is not a lock directory; move it away".to_owned();
    }
    let age = found
        .modified()
        .ok()
        .and_then(|refreshed| refreshed.elapsed().ok());
    match age {
        Some(age) => format!(
            "another program, which refreshed its lock {:.1} s ago",
            age.as_secs_f64()
        ),
        None => "another program, whose clock is ahead of ours".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_directory_is_gone_and_freed_only_when_the_result_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("inbox.json");
        let take = || {
            let deadline = Deadline::after(Duration::from_mins(1));
            LockDir::take(&data, Protocol::UnderFlock, deadline).unwrap()
        };
        let removed = take().release().unwrap();
        assert!(!lock_path(&data).exists());
        assert_eq!(removed.metadata().unwrap().nlink(), 0);
        // Releasing removes it once: what is there afterwards is another holder's.
        let other = take();
        drop(removed);
        other.confirm().unwrap();
    }
}
