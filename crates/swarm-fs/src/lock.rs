//! The one door to a shared file: both lock protocols, always in the same order.
//!
//! Our own processes exclude each other by flock on a *sidecar* that is never renamed or deleted:
//! the kernel frees it at any death, and a waiter sleeps in the kernel. Other programs (Claude Code) are
//! excluded by the lock directory `F.lock` beside each data file `F`. The data file itself is never flocked:
//! replacing it by rename would leave the lock on a dead inode.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fd_lock::RwLock;
use rustix::fs::OFlags;

use crate::FsError;
use crate::append::append_durable;
use crate::contained::{folder_of, identity, open_own};
use crate::holder;
use crate::lockdir::{LockDir, Protocol, sweep_marks};
use crate::replace::{Prepared, sweep_temporaries, sync_folder};
use crate::settle::Unsettled;
use crate::support::shared_file_system;
use crate::waiting::{Deadline, lock_exclusive};

/// How to wait for a lock.
#[derive(Debug, Clone)]
pub struct LockOptions {
    /// How long to wait altogether before [`FsError::LockTimeout`].
    pub deadline: Duration,
    /// Leave the flock out and trust the lock directories alone: for file systems where flock lies or the sticky
    /// bit does not hold, see [`crate::door_support`]. All processes that share a file must agree on it.
    pub directory_only: bool,
}

impl LockOptions {
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
        }
    }
}

/// What to lock. Every data file belongs to one sidecar for ever: the mark that tells a dead process's
/// lock directory from a live one's holds only under that sidecar's flock.
#[derive(Debug, Clone, Copy)]
pub struct LockPlan<'a> {
    /// The file that our own processes flock, made by [`crate::create_sidecar`].
    pub sidecar: &'a Path,
    /// The data files whose lock directories are taken, in this order. They need not exist, their folders must.
    pub data: &'a [PathBuf],
}

/// Runs `work` while holding the sidecar and the lock directories of all data files; lets go of them in
/// reverse order, also when `work` fails. Blocks; not for an async thread. Not re-entrant: a second
/// call for the same sidecar from inside `work` waits for itself until the deadline.
///
/// # Errors
/// What `work` returns, and before that: [`FsError::Gone`] if the sidecar is missing or was replaced while we
/// waited, or a data file's folder is missing; [`FsError::LockTimeout`] at the deadline.
pub fn with_lock<T, E: From<FsError>>(
    plan: &LockPlan<'_>,
    options: &LockOptions,
    work: impl FnOnce(&Held) -> Result<T, E>,
) -> Result<T, E> {
    let deadline = Deadline::after(options.deadline);
    let sidecar = open_sidecar(plan.sidecar)?;
    if options.directory_only {
        return under_sidecar(plan, &sidecar, options, deadline, work);
    }
    let mut lock = RwLock::new(&sidecar);
    loop {
        match lock.try_write() {
            Ok(locked) => {
                holder::sign(&locked);
                return under_sidecar(plan, &locked, options, deadline, work);
            }
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                // Once the waiting has succeeded this open file has the lock, and the next try takes note of it.
                io::ErrorKind::WouldBlock => wait_for_flock(plan.sidecar, &sidecar, deadline)?,
                _ => return Err(FsError::io(plan.sidecar, "lock", error).into()),
            },
        }
    }
}

fn open_sidecar(path: &Path) -> Result<File, FsError> {
    open_own(path, OFlags::RDWR)?.ok_or_else(|| FsError::Gone {
        path: path.to_owned(),
    })
}

fn wait_for_flock(path: &Path, sidecar: &File, deadline: Deadline) -> Result<(), FsError> {
    let locked =
        lock_exclusive(sidecar, deadline).map_err(|error| FsError::io(path, "lock", error))?;
    if locked {
        return Ok(());
    }
    Err(FsError::LockTimeout {
        path: path.to_owned(),
        holder: holder::describe(sidecar),
        waited: deadline.waited(),
    })
}

fn under_sidecar<T, E: From<FsError>>(
    plan: &LockPlan<'_>,
    sidecar: &File,
    options: &LockOptions,
    deadline: Deadline,
    work: impl FnOnce(&Held) -> Result<T, E>,
) -> Result<T, E> {
    still_in_place(plan.sidecar, sidecar)?;
    let held = Held {
        directories: RefCell::default(),
        options: options.clone(),
        unlocked: unlocked_sidecar(plan, sidecar, options)?,
    };
    for data in plan.data {
        held.take(data, deadline)?;
    }
    // Waiting for another program may have taken long enough for the team to be deleted.
    still_in_place(plan.sidecar, sidecar)?;
    work(&held)
}

/// Where the flock is left out, the sidecar is kept for the name of its holder alone.
fn unlocked_sidecar(
    plan: &LockPlan<'_>,
    sidecar: &File,
    options: &LockOptions,
) -> Result<Option<File>, FsError> {
    if !options.directory_only {
        return Ok(None);
    }
    let kept = sidecar.try_clone();
    kept.map(Some)
        .map_err(|error| FsError::io(plan.sidecar, "keep open", error))
}

/// A sidecar that is no longer the file at its path guards nothing: its team was deleted.
fn still_in_place(path: &Path, sidecar: &File) -> Result<(), FsError> {
    let locked = sidecar
        .metadata()
        .map_err(|error| FsError::io(path, "look at", error))?;
    let there =
        fs::symlink_metadata(path).map_err(|error| FsError::gone_or_io(path, "look at", error))?;
    if identity(&locked) == identity(&there) {
        Ok(())
    } else {
        Err(FsError::Gone {
            path: path.to_owned(),
        })
    }
}

/// Proof that the lock is held, and the only way to change what it guards.
///
/// Every change first makes sure that all lock directories are still ours. If this process was stopped for so
/// long that another program broke one, the change fails with [`FsError::LockLost`] and nothing is written.
#[derive(Debug)]
pub struct Held {
    directories: RefCell<Vec<LockDir>>,
    options: LockOptions,
    /// The sidecar, where nobody locks it.
    unlocked: Option<File>,
}

impl Held {
    /// Replaces a file as a whole: a private temporary file beside it, synced, renamed over it, the folder
    /// synced. Readers see the old content or `bytes`, whatever happens.
    ///
    /// # Errors
    /// [`FsError::LockLost`]; [`FsError::Gone`] if the folder is missing; [`FsError::NotOurs`] if `path` is not a
    /// regular file; [`FsError::Io`], with the old content in place unless the step was `sync the folder`.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        self.place(path, bytes)?.settle()
    }

    /// The same without the last step: the new content is in place and itself on disk, but a power cut may bring the old
    /// one back until the result is settled.
    ///
    /// # Errors
    /// As [`Held::replace`].
    pub fn place(&self, path: &Path, bytes: &[u8]) -> Result<Unsettled, FsError> {
        let prepared = Prepared::write(path, bytes)?;
        self.confirm()?;
        prepared.commit(path)
    }

    /// Removes a file; nothing there is fine.
    ///
    /// # Errors
    /// [`FsError::LockLost`], [`FsError::Io`].
    pub fn remove(&self, path: &Path) -> Result<(), FsError> {
        self.confirm()?;
        match fs::remove_file(path) {
            Ok(()) => sync_folder(folder_of(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(FsError::io(path, "remove", error)),
        }
    }

    /// Appends whole lines as [`append_durable`] does.
    ///
    /// # Errors
    /// [`FsError::LockLost`] and those of [`append_durable`].
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        self.confirm()?;
        append_durable(path, bytes)
    }

    /// Runs `work` with the lock directory of one more data file **of the same sidecar**: the caller keeps the
    /// ascending order. For a file that belongs to another sidecar nest [`with_lock`] instead.
    ///
    /// # Errors
    /// What `work` returns, and before that the same as [`with_lock`]; the waiting has its own deadline.
    pub fn also<T, E: From<FsError>>(
        &self,
        data: &Path,
        work: impl FnOnce(&Held) -> Result<T, E>,
    ) -> Result<T, E> {
        let taken = self.take(data, Deadline::after(self.options.deadline))?;
        let done = work(self);
        if taken {
            self.directories.borrow_mut().pop();
        }
        done
    }

    /// Whether one of the lock directories was left by a process of ours that was killed with it.
    pub fn follows_the_dead(&self) -> bool {
        self.directories
            .borrow()
            .iter()
            .any(LockDir::follows_the_dead)
    }

    /// Clears a folder in which **every** file belongs to the sidecar that is held: removes what a killed process left in
    /// it, lock directories that bear our mark and temporary files. Tells how many.
    ///
    /// # Errors
    /// [`FsError::Gone`], [`FsError::Io`].
    pub fn clear_after_the_dead(&self, folder: &Path) -> Result<usize, FsError> {
        if self.options.directory_only {
            // No mark tells the dead from the living.
            return Ok(0);
        }
        let marks = sweep_marks(folder, &self.directories.borrow())?;
        Ok(marks + sweep_temporaries(folder, Duration::ZERO)?)
    }

    /// Takes a lock directory; `false` if we have it already.
    fn take(&self, data: &Path, deadline: Deadline) -> Result<bool, FsError> {
        if self
            .directories
            .borrow()
            .iter()
            .any(|taken| taken.data() == data)
        {
            return Ok(false);
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
        Ok(true)
    }

    /// A lock directory says since when it is held, not by whom: the sidecar says who of ours had it last.
    fn with_last_holder(&self, error: FsError) -> FsError {
        match (error, &self.unlocked) {
            (
                FsError::LockTimeout {
                    path,
                    holder,
                    waited,
                },
                Some(sidecar),
            ) => FsError::LockTimeout {
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

    fn confirm(&self) -> Result<(), FsError> {
        self.directories
            .borrow()
            .iter()
            .try_for_each(LockDir::confirm)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        while self.directories.get_mut().pop().is_some() {}
    }
}
