//! Takes a lock directory that another program may hold.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::breaking::Breaking;
use super::entry::{Protocol, remove, state_of};
use super::held::{LockDir, is_our_mark, lock_path};
use super::stale::StaleWatch;
use crate::OsError;
use crate::contained::metadata_at;
use crate::replace::sweep_attempts_on;
use crate::waiting::{Deadline, back_off};

/// First and longest interval between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// The attempts of one waiter to take the lock directory of a data file.
#[derive(Debug)]
pub(crate) struct LockDirWait<'a> {
    pub(crate) data: &'a Path,
    path: PathBuf,
    /// Where the lock directory is kept while the lock is free.
    kept: Option<PathBuf>,
    protocol: Protocol,
    stale: StaleWatch,
    breaking: Breaking,
    pause: Duration,
    /// Whether a dead process of swarm had left a lock directory.
    was_left_behind: bool,
    /// What the last attempt found.
    found: Option<Metadata>,
}

impl<'a> LockDirWait<'a> {
    pub(crate) fn new(data: &'a Path, kept: Option<PathBuf>, protocol: Protocol) -> Self {
        let path = lock_path(data);
        Self {
            data,
            kept,
            protocol,
            stale: StaleWatch::default(),
            breaking: Breaking::of(&path),
            pause: PAUSES.0,
            was_left_behind: false,
            found: None,
            path,
        }
    }

    /// Takes the lock directory. Returns `None` if another program holds it.
    pub(crate) fn try_take(&mut self) -> Result<Option<LockDir>, OsError> {
        loop {
            let kept = self.kept.as_deref();
            let taken = LockDir::try_take(self.data, &self.path, kept, self.protocol)?;
            if let Some(mut taken) = taken {
                taken.was_left_behind = self.was_left_behind;
                return Ok(Some(taken));
            }
            let Some(found) = metadata_at(&self.path)? else {
                continue;
            };
            if self.protocol == Protocol::UnderFlock && is_our_mark(&found) {
                tracing::debug!(path = %self.path.display(), "removing the lock of a dead process");
                remove(&self.path)?;
                sweep_attempts_on(self.data)?;
                self.was_left_behind = true;
                continue;
            }
            let seen = state_of(&found);
            let is_stale =
                found.is_dir() && self.stale.is_stale(seen, SystemTime::now(), Instant::now());
            self.found = Some(found);
            if !is_stale || !self.breaking.try_at(seen, self.protocol)? {
                return Ok(None);
            }
            tracing::warn!(path = %self.path.display(), "removed a stale lock directory");
        }
    }

    /// Waits before the next attempt, longer each time.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] at the deadline.
    pub(crate) fn back_off(&mut self, deadline: Deadline<'_>) -> Result<(), OsError> {
        if deadline.is_over() {
            let holder = || self.found.as_ref().map(describe).unwrap_or_default();
            return Err(deadline.missed(&self.path, holder));
        }
        back_off(self.pause, deadline);
        self.pause = (self.pause * 2).min(PAUSES.1);
        Ok(())
    }
}

fn describe(found: &Metadata) -> String {
    if !found.is_dir() {
        return "a file that is not a lock directory; remove it".to_owned();
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
        None => "another program, whose clock is ahead".to_owned(),
    }
}
