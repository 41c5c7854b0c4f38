//! The one door to a shared file: both lock protocols, always in the same order.
//!
//! Our own processes exclude each other by flock on a *sidecar* that is never renamed or deleted:
//! the kernel frees it at any death, and a waiter sleeps in the kernel. Other programs (Claude Code) are
//! excluded by the lock directory `F.lock` beside each data file `F`. The data file itself is never flocked:
//! replacing it by rename would leave the lock on a dead inode.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fd_lock::RwLock;
use rustix::fs::OFlags;

use crate::OsError;
use crate::append::append_durable;
use crate::contained::{directory_of, identity, open_directory, open_known};
use crate::disk::{Step, log};
use crate::file_system::shared_file_system;
use crate::holder;
use crate::lock_directory::{JUST_REFRESHED, LockDir, Protocol, sweep_marks};
use crate::pending_sync::PendingSync;
use crate::replace::{Prepared, sweep_temporaries};
use crate::waiting::{Deadline, LockAttempt, LockInterrupt, lock_exclusive};

/// How many files are written before their contents are waited for together: each has a descriptor until then.
const FILES_AT_ONCE: usize = 128;

/// How to wait for a lock.
#[derive(Debug, Clone)]
pub struct LockOptions {
    /// How long to wait altogether before [`OsError::LockTimeout`].
    pub deadline: Duration,
    /// Leave the flock out and trust the lock directories alone: for file systems where flock lies or the sticky
    /// bit does not hold, see [`crate::door_support`]. All processes that share a file must agree on it.
    pub directory_only: bool,
    /// What cuts the waiting short.
    pub interrupt: Option<LockInterrupt>,
    /// Set for an execution that is repeated elsewhere if a lock is not free.
    pub attempt: Option<LockAttempt>,
}

impl LockOptions {
    fn deadline(&self) -> Deadline<'_> {
        Deadline::after(self.deadline)
            .or_interrupt(self.interrupt.as_ref())
            .or_attempt(self.attempt.as_ref())
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

    /// Abandons an attempt that has changed nothing yet, before work that changes something and then
    /// takes further locks. `path` names what the work is about.
    ///
    /// # Errors
    /// [`OsError::LockTimeout`] in such an attempt.
    pub fn abandon_attempt(&self, path: &Path) -> Result<(), OsError> {
        match &self.attempt {
            Some(attempt) if !attempt.may_wait() => Err(self.deadline().missed(path, String::new)),
            _ => Ok(()),
        }
    }

    /// The usual ones for files below `root`: on a file system where flock is not to be trusted, the lock directories
    /// alone. All processes come to the same, since they look at the same file system.
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
        }
    }
}

/// What to lock. Every data file belongs to one sidecar for ever: the mark that tells a dead process's
/// lock directory from a live one's holds only under that sidecar's flock.
#[derive(Debug, Clone, Copy)]
pub struct LockPlan<'a> {
    /// The file that our own processes flock, made by [`crate::create_sidecar`].
    pub sidecar: &'a Path,
    /// The data files whose lock directories are taken, in this order. They need not exist, their directories must.
    pub data: &'a [PathBuf],
}

/// Runs `work` while holding the sidecar and the lock directories of all data files; lets go of them in
/// reverse order, also when `work` fails. Blocks; not for an async thread. Not re-entrant: a second
/// call for the same sidecar from inside `work` waits for itself until the deadline.
///
/// # Errors
/// What `work` returns, and before that: [`OsError::Gone`] if the sidecar is missing or was replaced while we
/// waited, or a data file's directory is missing; [`OsError::LockTimeout`] at the deadline.
pub fn with_lock<T, E: From<OsError>>(
    plan: &LockPlan<'_>,
    options: &LockOptions,
    work: impl FnOnce(&LockGuard) -> Result<T, E>,
) -> Result<T, E> {
    let deadline = options.deadline();
    let (sidecar, opened) = open_sidecar(plan.sidecar)?;
    // Declared before the guard of the flock, so dropped after it: the next holder does not wait until they are freed.
    let mut removed = Vec::new();
    if options.directory_only {
        return under_sidecar(
            plan,
            &sidecar,
            opened,
            options,
            deadline,
            &mut removed,
            work,
        );
    }
    let mut lock = RwLock::new(&sidecar);
    loop {
        match lock.try_write() {
            Ok(locked) => {
                holder::sign(&locked);
                return under_sidecar(plan, &locked, opened, options, deadline, &mut removed, work);
            }
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                // Once the waiting has succeeded this open file has the lock, and the next try takes note of it.
                io::ErrorKind::WouldBlock => wait_for_flock(plan.sidecar, &sidecar, deadline)?,
                _ => return Err(OsError::io(plan.sidecar, "lock", error).into()),
            },
        }
    }
}

/// The sidecar, and which file it is.
fn open_sidecar(path: &Path) -> Result<(File, (u64, u64)), OsError> {
    let opened = open_known(path, OFlags::RDWR)?.ok_or_else(|| OsError::Gone {
        path: path.to_owned(),
    });
    opened.map(|(file, found)| (file, identity(&found)))
}

fn wait_for_flock(path: &Path, sidecar: &File, deadline: Deadline<'_>) -> Result<(), OsError> {
    let locked =
        lock_exclusive(sidecar, deadline).map_err(|error| OsError::io(path, "lock", error))?;
    if locked {
        return Ok(());
    }
    Err(deadline.missed(path, || holder::describe(sidecar)))
}

fn under_sidecar<T, E: From<OsError>>(
    plan: &LockPlan<'_>,
    sidecar: &File,
    opened: (u64, u64),
    options: &LockOptions,
    deadline: Deadline<'_>,
    removed: &mut Vec<File>,
    work: impl FnOnce(&LockGuard) -> Result<T, E>,
) -> Result<T, E> {
    still_in_place(plan.sidecar, opened)?;
    let mut held = LockGuard {
        directories: RefCell::default(),
        options: options.clone(),
        unlocked: unlocked_sidecar(plan, sidecar, options)?,
        sidecar: (plan.sidecar.to_owned(), opened),
        confirmed: Cell::new(Instant::now()),
    };
    for data in plan.data {
        held.take(data, deadline)?;
    }
    // Waiting for another program may have taken long enough for the team to be deleted.
    if held.any(LockDir::was_waited_for) {
        still_in_place(plan.sidecar, opened)?;
    }
    let done = work(&held);
    while let Some(directory) = held.directories.get_mut().pop() {
        removed.extend(directory.release());
    }
    done
}

/// Where the flock is left out, the sidecar is kept for the name of its holder alone.
fn unlocked_sidecar(
    plan: &LockPlan<'_>,
    sidecar: &File,
    options: &LockOptions,
) -> Result<Option<File>, OsError> {
    if !options.directory_only {
        return Ok(None);
    }
    let kept = sidecar.try_clone();
    kept.map(Some)
        .map_err(|error| OsError::io(plan.sidecar, "keep open", error))
}

/// A sidecar that is no longer the file at its path guards nothing: its team was deleted.
fn still_in_place(path: &Path, opened: (u64, u64)) -> Result<(), OsError> {
    let there =
        fs::symlink_metadata(path).map_err(|error| OsError::gone_or_io(path, "look at", error))?;
    if identity(&there) == opened {
        Ok(())
    } else {
        Err(OsError::Gone {
            path: path.to_owned(),
        })
    }
}

/// Proof that the lock is held, and the only way to change what it guards.
///
/// Every change first makes sure that the lock directory of its file and the first one of all are still ours, and after a
/// second without a change that all are. If this process was stopped for so long that another program broke one, the change
/// fails with [`OsError::LockLost`] and nothing is written.
#[derive(Debug)]
pub struct LockGuard {
    directories: RefCell<Vec<LockDir>>,
    options: LockOptions,
    /// The sidecar, where nobody locks it.
    unlocked: Option<File>,
    /// Where the sidecar is, and which file it was when it was locked.
    sidecar: (PathBuf, (u64, u64)),
    /// When all directories were confirmed for the last time.
    confirmed: Cell<Instant>,
}

impl LockGuard {
    /// Replaces a file as a whole: a private temporary file beside it, synced, renamed over it, the directory
    /// synced. Readers see the old content or `bytes`, whatever happens.
    ///
    /// # Errors
    /// [`OsError::LockLost`]; [`OsError::Gone`] if the directory is missing; [`OsError::NotOurs`] if `path` is not a
    /// regular file; [`OsError::Io`], with the old content in place unless the step was `sync the directory`.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), OsError> {
        self.place(path, bytes)?.sync()
    }

    /// The same without the last step: the new content is in place and itself on disk, but a power cut may bring the old
    /// one back until the result is synced.
    ///
    /// # Errors
    /// As [`LockGuard::replace`].
    pub fn place(&self, path: &Path, bytes: &[u8]) -> Result<PendingSync, OsError> {
        let directory = open_directory(directory_of(path))?;
        let prepared = Prepared::write(path, bytes)?;
        prepared.flush()?;
        self.confirm(path)?;
        let before = prepared.commit()?;
        Ok(PendingSync::entered(directory_of(path).to_owned(), directory).freeing(before))
    }

    /// [`LockGuard::place`] for many files of one directory, whose contents are waited for together. Where it fails half-way, the
    /// first ones are in place.
    ///
    /// # Errors
    /// As [`LockGuard::replace`].
    pub fn place_all(
        &self,
        directory: &Path,
        files: &[(PathBuf, Vec<u8>)],
    ) -> Result<PendingSync, OsError> {
        let opened = open_directory(directory)?;
        for some in files.chunks(FILES_AT_ONCE) {
            let prepared: Vec<Prepared<'_>> = some
                .iter()
                .map(|(path, bytes)| Prepared::write(path, bytes))
                .collect::<Result<_, _>>()?;
            Prepared::flush_all(&prepared)?;
            for (prepared, (path, _)) in prepared.into_iter().zip(some) {
                self.confirm(path)?;
                prepared.commit()?;
            }
        }
        Ok(PendingSync::entered(directory.to_owned(), opened))
    }

    /// Removes a file; nothing there is fine.
    ///
    /// # Errors
    /// [`OsError::LockLost`], [`OsError::Io`].
    pub fn remove(&self, path: &Path) -> Result<(), OsError> {
        self.take_away(path)?.sync()
    }

    /// The same without the wait for the disk.
    ///
    /// # Errors
    /// As [`LockGuard::remove`].
    pub fn take_away(&self, path: &Path) -> Result<PendingSync, OsError> {
        self.confirm(path)?;
        match fs::remove_file(path) {
            Ok(()) => {
                log(Step::Entered, path);
                let directory = directory_of(path);
                Ok(PendingSync::entered(
                    directory.to_owned(),
                    open_directory(directory)?,
                ))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PendingSync::default()),
            Err(error) => Err(OsError::io(path, "remove", error)),
        }
    }

    /// Appends whole lines as [`append_durable`] does.
    ///
    /// # Errors
    /// [`OsError::LockLost`] and those of [`append_durable`].
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), OsError> {
        self.confirm(path)?;
        append_durable(path, bytes)
    }

    /// Runs `work` with the lock directories of more data files **of the same sidecar**: the caller keeps the
    /// ascending order. For a file that belongs to another sidecar nest [`with_lock`] instead.
    ///
    /// # Errors
    /// What `work` returns, and before that the same as [`with_lock`]; the waiting has its own deadline.
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

    /// Whether one of the lock directories was left by a process of ours that was killed with it.
    pub fn follows_the_dead(&self) -> bool {
        self.any(LockDir::follows_the_dead)
    }

    fn any(&self, is: impl Fn(&LockDir) -> bool) -> bool {
        self.directories.borrow().iter().any(is)
    }

    /// Clears a directory in which **every** file belongs to the sidecar that is held: removes what a killed process left in
    /// it, lock directories that bear our mark and temporary files. Tells how many.
    ///
    /// # Errors
    /// [`OsError::Gone`], [`OsError::Io`].
    pub fn clear_after_the_dead(&self, directory: &Path) -> Result<usize, OsError> {
        if self.options.directory_only {
            // No mark tells the dead from the living.
            return Ok(0);
        }
        let marks = sweep_marks(directory, &self.directories.borrow())?;
        Ok(marks + sweep_temporaries(directory, Duration::ZERO)?)
    }

    /// Takes a lock directory, unless we have it already.
    fn take(&self, data: &Path, deadline: Deadline<'_>) -> Result<(), OsError> {
        if self.any(|taken| taken.locks(data)) {
            return Ok(());
        }
        let protocol = if self.options.directory_only {
            Protocol::DirectoryOnly
        } else {
            Protocol::UnderFlock
        };
        let taken = LockDir::take(data, protocol, deadline)
            .map_err(|error| self.with_last_holder(error))?;
        self.directories.borrow_mut().push(taken);
        if let Some(sidecar) = &self.unlocked {
            holder::sign(sidecar);
        }
        Ok(())
    }

    /// A lock directory says since when it is held, not by whom: the sidecar says who of ours had it last.
    fn with_last_holder(&self, error: OsError) -> OsError {
        match (error, &self.unlocked) {
            (
                OsError::LockTimeout {
                    path,
                    holder,
                    waited,
                },
                Some(sidecar),
            ) => OsError::LockTimeout {
                path,
                holder: format!(
                    "{holder} (the last one of swarm to take it was {})",
                    holder::describe(sidecar)
                ),
                waited,
            },
            (error, _) => error,
        }
    }

    /// Makes sure that a file may still be changed. Looking at all directories each time would take time in proportion to the
    /// square of their number.
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
        still_in_place(sidecar, *opened)?;
        self.confirmed.set(Instant::now());
        Ok(())
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        while self.directories.get_mut().pop().is_some() {}
    }
}
