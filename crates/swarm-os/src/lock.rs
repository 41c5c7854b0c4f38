//! Locks on shared files: both lock protocols, always in the same order. Processes of swarm exclude
//! each other with a flock on a *sidecar* that is never renamed or deleted: the kernel releases it
//! when its holder dies, and waiters sleep in the kernel. Other programs (Claude Code) are excluded
//! by the lock directory `F.lock` next to each data file `F`. The data file itself is never
//! flocked: after a replacement by rename, the lock would be on the old inode.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::OsError;
use crate::append::append_durable;
use crate::contained::{directory_of, identity, open_directory, open_known};
use crate::disk::{Step, log};
use crate::error::OnPath as _;
use crate::file_system::shared_file_system;
use crate::flock::release;
use crate::holder;
use crate::lock_attempt::LockAttempt;
use crate::lock_directory::{JUST_REFRESHED, LockDir, LockDirWait, Protocol, sweep_marks};
use crate::pending_sync::PendingSync;
use crate::replace::{Original, Prepared, place_if, sweep_attempts_on, sweep_temporaries};
use crate::waiting::{Deadline, LockInterrupt, lock_within};

/// Number of files that are written before their contents are flushed together: each needs a
/// descriptor until then.
const FILES_PER_FLUSH: usize = 128;

/// Options of waiting for a lock.
#[derive(Debug, Clone)]
pub struct LockOptions {
    /// Total waiting time before [`OsError::LockTimeout`].
    pub deadline: Duration,
    /// Use lock directories only, without flock: for file systems on which flock or the sticky bit
    /// does not work, see [`crate::lock_support`]. All processes that share a file must use the
    /// same value.
    pub directory_only: bool,
    /// Interrupts the wait.
    pub interrupt: Option<LockInterrupt>,
    /// Set for an execution that is repeated elsewhere if a lock is not free.
    pub attempt: Option<LockAttempt>,
    /// Start of the wait, if an abandoned attempt has already waited.
    pub waiting_since: Option<Instant>,
}

impl LockOptions {
    pub(crate) fn deadline(&self) -> Deadline<'_> {
        Deadline::since(
            self.waiting_since.unwrap_or_else(Instant::now),
            self.deadline,
        )
        .or_interrupt(self.interrupt.as_ref())
        .or_attempt(self.attempt.as_ref())
    }

    fn protocol(&self) -> Protocol {
        if self.directory_only {
            Protocol::DirectoryOnly
        } else {
            Protocol::UnderFlock
        }
    }

    /// The deadline of a wait for a lock directory.
    fn for_directory<'d>(&self, deadline: Deadline<'d>) -> Deadline<'d> {
        match self.protocol() {
            Protocol::UnderFlock => deadline.for_other_program(),
            Protocol::DirectoryOnly => deadline,
        }
    }

    /// Without flock, adds the last holder recorded in the sidecar to an error: a lock directory does
    /// not name its holder.
    fn with_last_holder(&self, error: OsError, sidecar: &File) -> OsError {
        match error {
            OsError::LockTimeout {
                path,
                holder,
                waited,
            } if self.directory_only => OsError::LockTimeout {
                path,
                holder: format!(
                    "{holder} (last holder of swarm: {})",
                    holder::describe(sidecar)
                ),
                waited,
            },
            error => error,
        }
    }

    /// Must be called before a change of `path` that does not go through a [`LockGuard`].
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] in an attempt that was abandoned: it must not change anything.
    pub fn begin_change(&self, path: &Path) -> Result<(), OsError> {
        match &self.attempt {
            Some(attempt) if !attempt.begin_change() => {
                Err(self.deadline().missed(path, String::new))
            }
            _ => Ok(()),
        }
    }

    /// Abandons an attempt that has changed nothing yet, before work that changes something and
    /// then takes further locks. `path` names what the work is about.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] in such an attempt.
    pub fn abandon_attempt(&self, path: &Path) -> Result<(), OsError> {
        match &self.attempt {
            Some(attempt) if !attempt.may_wait() => Err(self.deadline().missed(path, String::new)),
            _ => Ok(()),
        }
    }

    /// Returns the options for files below `root`: lock directories only if flock is unreliable on
    /// the file system. All processes get the same result, because they check the same file system.
    pub fn below(root: &Path) -> Self {
        Self {
            directory_only: shared_file_system(root).is_some(),
            ..Self::default()
        }
    }
}

impl Default for LockOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(20),
            directory_only: false,
            interrupt: None,
            attempt: None,
            waiting_since: None,
        }
    }
}

/// The files to lock. Every data file permanently belongs to one sidecar: the mark of a lock
/// directory identifies a dead holder only under the flock of that sidecar.
#[derive(Debug, Clone, Copy)]
pub struct LockPlan<'a> {
    /// The file that processes of swarm flock, created by [`crate::create_sidecar`].
    pub sidecar: &'a Path,
    /// The data files whose lock directories are taken, in this order. The files need not exist;
    /// their directories must.
    pub data: &'a [PathBuf],
}

/// Runs `work` while holding the sidecar and the lock directories of all data files. Releases them
/// in reverse order, even if `work` fails. Blocks, so do not call it from async code. Not
/// re-entrant: a nested call for the same sidecar waits until the deadline.
///
/// # Errors
/// [`OsError::Gone`] if the sidecar is missing or was replaced during the wait, or the directory of
/// a data file is missing; [`OsError::LockTimeout`] at the deadline; any error of `work`.
pub fn with_lock<T, E: From<OsError>>(
    plan: &LockPlan<'_>,
    options: &LockOptions,
    work: impl FnOnce(&LockGuard) -> Result<T, E>,
) -> Result<T, E> {
    with_lock_after(plan, options, || (), |held, ()| work(held))
}

/// Like [`with_lock`], and runs `prepare` before it waits for the lock. A file that `prepare` opens
/// belongs to the sidecar: `work` does not run if the sidecar was replaced since it was opened, which
/// is before `prepare`.
///
/// # Errors
/// As [`with_lock`].
pub fn with_lock_after<P, T, E: From<OsError>>(
    plan: &LockPlan<'_>,
    options: &LockOptions,
    prepare: impl FnOnce() -> P,
    work: impl FnOnce(&LockGuard, P) -> Result<T, E>,
) -> Result<T, E> {
    let deadline = options.deadline();
    let (sidecar, found) =
        open_known(plan.sidecar, OFlags::RDWR)?.ok_or_else(|| OsError::gone(plan.sidecar))?;
    let opened = identity(&found);
    let prepared = prepare();
    // The directories are released before the flock.
    let (_flock, held) = take_all(plan, options, deadline, (&sidecar, opened))?;
    work(&held, prepared)
}

/// Takes the flock of the sidecar, given with its identity, and the lock directories. While another
/// program holds one of them, this process waits without the flock: a process of swarm that waits
/// less for other programs must get as far as the lock directory to notice.
fn take_all<'s>(
    plan: &LockPlan<'_>,
    options: &LockOptions,
    deadline: Deadline<'_>,
    (sidecar, opened): (&'s File, (u64, u64)),
) -> Result<(Option<Flock<'s>>, LockGuard), OsError> {
    // That of the first file is kept while the lock is free: most operations lock no other one.
    let mut kept = (!options.directory_only).then(|| plan.sidecar.with_added_extension("free"));
    let waits = plan.data.iter();
    let waits = waits.map(|data| LockDirWait::new(data, kept.take(), options.protocol()));
    let mut waits: Vec<_> = waits.collect();
    loop {
        let flock = (!options.directory_only).then(|| Flock::take(plan.sidecar, sidecar, deadline));
        let flock = flock.transpose()?;
        ensure_current(plan.sidecar, opened)?;
        // Without flock, the sidecar is only used to record the holder.
        let unlocked = options.directory_only.then(|| sidecar.try_clone());
        let unlocked = unlocked.transpose();
        let held = LockGuard {
            directories: RefCell::default(),
            options: options.clone(),
            unlocked: unlocked.or_io(plan.sidecar, "duplicate the descriptor of")?,
            sidecar: (plan.sidecar.to_owned(), opened),
            confirmed: Cell::new(Instant::now()),
        };
        let Some(missing) = held.try_take_each(&mut waits)? else {
            return Ok((flock, held));
        };
        drop(held);
        drop(flock);
        let waited = missing.back_off(options.for_directory(deadline));
        waited.map_err(|error| options.with_last_holder(error, sidecar))?;
    }
}

/// The flock on a sidecar.
struct Flock<'a>(&'a File);

impl<'a> Flock<'a> {
    fn take(path: &Path, sidecar: &'a File, deadline: Deadline<'_>) -> Result<Self, OsError> {
        lock_within(path, sidecar, deadline, holder::describe)?;
        holder::record_holder(sidecar);
        Ok(Self(sidecar))
    }
}

impl Drop for Flock<'_> {
    fn drop(&mut self) {
        release(self.0);
    }
}

/// Fails if the file at the path of the sidecar is another one: its team was deleted.
fn ensure_current(path: &Path, opened: (u64, u64)) -> Result<(), OsError> {
    let current = fs::symlink_metadata(path).or_gone(path, "inspect")?;
    if identity(&current) == opened {
        Ok(())
    } else {
        Err(OsError::gone(path))
    }
}

/// Proof that the lock is held. Its methods are the only way to change the locked files. Every
/// change first checks that the first lock directory and that of the changed file are still held,
/// and all of them after a second without a change. If this process was suspended for so long that
/// another program broke one of them, the change fails with [`OsError::LockLost`] and nothing is
/// written.
#[derive(Debug)]
pub struct LockGuard {
    directories: RefCell<Vec<LockDir>>,
    options: LockOptions,
    /// The sidecar, if it is not flocked.
    unlocked: Option<File>,
    /// Path of the sidecar, and its identity when it was locked.
    sidecar: (PathBuf, (u64, u64)),
    /// Time of the last check of all directories.
    confirmed: Cell<Instant>,
}

impl LockGuard {
    /// Replaces a file atomically: writes and syncs a private temporary file next to it, renames it
    /// and syncs the directory. Readers always see either the old content or `bytes`.
    ///
    /// # Errors
    /// [`OsError::LockLost`]; [`OsError::Gone`] if the directory is missing; [`OsError::NotOurs`]
    /// if `path` is not a regular file; [`OsError::Io`], which leaves the old content unless the
    /// operation was `sync the directory`.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), OsError> {
        self.place(path, bytes)?.sync()
    }

    /// Like [`LockGuard::replace`], without syncing the directory: the new content is visible and
    /// flushed, but a power failure may restore the old content until the result is synced.
    pub fn place(&self, path: &Path, bytes: &[u8]) -> Result<PendingSync, OsError> {
        self.place_over(Original::default(), path, bytes)
    }

    /// Like [`LockGuard::place`], for a file that was read since the lock was taken.
    pub fn place_over(
        &self,
        original: Original,
        path: &Path,
        bytes: &[u8],
    ) -> Result<PendingSync, OsError> {
        place_if(path, bytes, original, || self.confirm(path))
    }

    /// Like [`LockGuard::place`], for many files of one directory, whose contents are flushed
    /// together. After an error, some of the files may have been replaced.
    ///
    /// # Errors
    /// As [`LockGuard::replace`].
    pub fn place_all(
        &self,
        directory: &Path,
        files: &[(PathBuf, Vec<u8>)],
    ) -> Result<PendingSync, OsError> {
        let opened = open_directory(directory)?;
        for some in files.chunks(FILES_PER_FLUSH) {
            let prepared: Vec<Prepared<'_>> = some
                .iter()
                .map(|(path, bytes)| Prepared::write(path, bytes))
                .collect::<Result<_, _>>()?;
            Prepared::flush_all(&prepared)?;
            for (prepared, (path, _)) in prepared.into_iter().zip(some) {
                self.confirm(path)?;
                prepared.commit(Original::default())?;
            }
        }
        Ok(PendingSync::entered(directory.to_owned(), opened))
    }

    /// Removes a file. Succeeds if it does not exist.
    ///
    /// # Errors
    /// [`OsError::LockLost`], [`OsError::Io`].
    pub fn remove(&self, path: &Path) -> Result<(), OsError> {
        if self.remove_unsynced(path)? {
            PendingSync::entered_in(directory_of(path))?.sync()?;
        }
        Ok(())
    }

    /// Like [`LockGuard::remove`], for a caller that flushes the directory. Returns whether the file
    /// existed.
    pub fn remove_unsynced(&self, path: &Path) -> Result<bool, OsError> {
        self.confirm(path)?;
        let existed = fs::remove_file(path).or_none(path, "remove")?.is_some();
        if existed {
            log(Step::Entered, path);
        }
        Ok(existed)
    }

    /// Appends complete lines, like [`append_durable`].
    ///
    /// # Errors
    /// [`OsError::LockLost`] and those of [`append_durable`].
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), OsError> {
        self.confirm(path)?;
        append_durable(path, bytes)
    }

    /// Runs `work` while also holding the lock directories of further data files **of the same
    /// sidecar**, which the caller passes in ascending order. For files of another sidecar, nest
    /// [`with_lock`] instead.
    ///
    /// # Errors
    /// As [`with_lock`], with a separate deadline.
    pub fn also<T, E: From<OsError>>(
        &self,
        data: &[PathBuf],
        work: impl FnOnce(&LockGuard) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.directories.borrow().len();
        let deadline = self.options.deadline();
        let taken = data.iter().try_for_each(|data| self.take(data, deadline));
        let done = taken.map_err(E::from).and_then(|()| work(self));
        while self.directories.borrow().len() > before {
            self.directories.borrow_mut().pop();
        }
        done
    }

    /// Returns whether one of the lock directories was left behind by a killed process of swarm.
    pub fn was_left_behind(&self) -> bool {
        self.any(LockDir::was_left_behind)
    }

    fn any(&self, is: impl Fn(&LockDir) -> bool) -> bool {
        self.directories.borrow().iter().any(is)
    }

    /// Removes lock directories and temporary files of killed processes from a directory in which
    /// **every** file belongs to the held sidecar. Returns their number.
    ///
    /// # Errors
    /// [`OsError::Gone`], [`OsError::Io`].
    pub fn remove_leftovers(&self, directory: &Path) -> Result<usize, OsError> {
        if self.options.directory_only {
            // Without marks, dead holders cannot be identified.
            return Ok(0);
        }
        let marks = sweep_marks(directory, &self.directories.borrow())?;
        Ok(marks + sweep_temporaries(directory, Duration::ZERO)?)
    }

    /// Removes temporary files of killed writers of a file that belongs to the held sidecar. Returns
    /// their number.
    ///
    /// # Errors
    /// [`OsError::Io`].
    pub fn remove_attempts_on(&self, path: &Path) -> Result<usize, OsError> {
        if self.options.directory_only {
            return Ok(0);
        }
        sweep_attempts_on(path)
    }

    /// Takes a lock directory, unless it is already held.
    fn take(&self, data: &Path, deadline: Deadline<'_>) -> Result<(), OsError> {
        let mut wait = [LockDirWait::new(data, None, self.options.protocol())];
        while let Some(missing) = self.try_take_each(&mut wait)? {
            let waited = missing.back_off(self.options.for_directory(deadline));
            waited.map_err(|error| match &self.unlocked {
                Some(sidecar) => self.options.with_last_holder(error, sidecar),
                None => error,
            })?;
        }
        Ok(())
    }

    /// Takes lock directories, except those that are already held. Returns the first one that
    /// another program holds.
    fn try_take_each<'w, 'd>(
        &self,
        waits: &'w mut [LockDirWait<'d>],
    ) -> Result<Option<&'w mut LockDirWait<'d>>, OsError> {
        for wait in waits {
            if self.any(|taken| taken.locks(wait.data)) {
                continue;
            }
            let Some(taken) = wait.try_take()? else {
                return Ok(Some(wait));
            };
            self.directories.borrow_mut().push(taken);
            if let Some(sidecar) = &self.unlocked {
                holder::record_holder(sidecar);
            }
        }
        Ok(None)
    }

    /// Checks that a file may still be changed. Checking all directories each time would take
    /// quadratic time.
    fn confirm(&self, path: &Path) -> Result<(), OsError> {
        self.options.begin_change(path)?;
        let directories = self.directories.borrow();
        if self.confirmed.get().elapsed() < JUST_REFRESHED {
            let own = directories.iter().skip(1).find(|taken| taken.locks(path));
            return directories
                .first()
                .into_iter()
                .chain(own)
                .try_for_each(LockDir::confirm);
        }
        let (sidecar, opened) = &self.sidecar;
        directories.iter().try_for_each(LockDir::confirm)?;
        ensure_current(sidecar, *opened)?;
        self.confirmed.set(Instant::now());
        Ok(())
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        while self.directories.get_mut().pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_in_a_forked_child_does_not_keep_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inbox.lk");
        crate::create_sidecar(&path).unwrap();
        let sidecar = File::open(&path).unwrap();
        // Like the copy in a forked child: another descriptor of the same open file.
        let _copy = sidecar.try_clone().unwrap();
        let deadline = Deadline::after(Duration::from_mins(1));
        drop(Flock::take(&path, &sidecar, deadline).unwrap());
        drop(sidecar);
        File::open(&path).unwrap().try_lock().unwrap();
    }

    #[test]
    fn an_abandoned_attempt_writes_nothing_under_a_lock() {
        let directory = tempfile::tempdir().unwrap();
        let [sidecar, path] = ["f.lk", "f.json"].map(|name| directory.path().join(name));
        crate::create_sidecar(&sidecar).unwrap();
        let options = LockOptions {
            attempt: Some(LockAttempt::default()),
            ..LockOptions::default()
        };
        let plan = LockPlan {
            sidecar: &sidecar,
            data: &[],
        };
        let written = with_lock(&plan, &options, |held| {
            options.abandon_attempt(&path).unwrap_err();
            held.replace(&path, b"too late")
        });
        written.unwrap_err();
        assert!(!path.exists());
    }
}
