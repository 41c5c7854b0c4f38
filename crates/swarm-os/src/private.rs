//! Directories and files that only their owner can enter, whatever the umask says.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::OsError;
use crate::contained::{self, PRIVATE_FILE, not_ours, open_directory, open_own, retrying};
use crate::disk::{Step, log};
use crate::pending_sync::PendingSync;

/// Makes one directory with mode 0700.
///
/// # Errors
/// [`OsError::Exists`] if anything is there, [`OsError::Gone`] if the directory around it is missing.
pub fn create_private_dir(path: &Path) -> Result<(), OsError> {
    make_dir(path)?;
    log(Step::Entered, path);
    Ok(())
}

fn make_dir(path: &Path) -> Result<(), OsError> {
    match retrying(|| rustix::fs::mkdir(path, Mode::RWXU)) {
        Ok(()) => {}
        Err(Errno::EXIST) => {
            return Err(OsError::Exists {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(OsError::gone_or_io(path, "make the directory", error)),
    }
    // The umask can only have taken bits away, so nobody else could enter in between.
    widen_to(path, Mode::RWXU)
}

/// Makes a directory and the missing directories around it, each with mode 0700. What is there already stays as
/// it is. A power cut may undo it: see [`place_private_dir`].
///
/// # Errors
/// [`OsError::NotOurs`] if `path` is a symbolic link, not a directory, or another user's.
pub fn ensure_private_dir(path: &Path) -> Result<(), OsError> {
    let _left_to_the_kernel = place_private_dir(path)?;
    Ok(())
}

/// The same for a directory that is to outlive a power cut, once the result is synced. There is nothing to sync if the
/// directory was there.
///
/// # Errors
/// As [`ensure_private_dir`].
pub fn place_private_dir(path: &Path) -> Result<PendingSync, OsError> {
    let around = contained::directory_of(path);
    match create_private_dir(path) {
        Err(OsError::Gone { .. }) if around != path => {
            // Directories further out may be links (a home on another disk): only the last one is ours to judge.
            let outer = if around.is_dir() {
                PendingSync::default()
            } else {
                place_private_dir(around)?
            };
            match create_private_dir(path) {
                Err(OsError::Exists { .. }) => check_own_dir(path).map(|()| outer),
                made => Ok(made.and_then(|()| entry_of(around))?.and(outer)),
            }
        }
        Err(OsError::Exists { .. }) => check_own_dir(path).map(|()| PendingSync::default()),
        made => made.and_then(|()| entry_of(around)),
    }
}

/// A new entry in a directory.
fn entry_of(directory: &Path) -> Result<PendingSync, OsError> {
    Ok(PendingSync::entered(
        directory.to_owned(),
        open_directory(directory)?,
    ))
}

/// What was made in these directories without a wait for the disk.
///
/// # Errors
/// [`OsError::Gone`] if one is missing, [`OsError::Io`] if it cannot be opened.
pub fn made_in<'p>(
    directories: impl IntoIterator<Item = &'p Path>,
) -> Result<PendingSync, OsError> {
    directories
        .into_iter()
        .try_fold(PendingSync::default(), |all, directory| {
            Ok(all.and(entry_of(directory)?))
        })
}

/// Accepts a directory of this user that is not reached through a symbolic link in the last place.
///
/// # Errors
/// [`OsError::Gone`] if there is nothing, [`OsError::Io`] if it is no directory, [`OsError::NotOurs`] if it is another's.
pub fn check_own_dir(path: &Path) -> Result<(), OsError> {
    let metadata =
        fs::symlink_metadata(path).map_err(|error| OsError::gone_or_io(path, "look at", error))?;
    if metadata.is_symlink() {
        return Err(not_ours(path, "it is a symbolic link"));
    }
    if !metadata.is_dir() {
        let kind = io::ErrorKind::NotADirectory;
        return Err(OsError::io(path, "use the directory", kind));
    }
    contained::refuse_other_owner(path, &metadata)
}

/// Makes one empty file with mode 0600.
///
/// # Errors
/// [`OsError::Exists`] if anything is there, [`OsError::Gone`] if its directory is missing.
pub fn create_private_file(path: &Path) -> Result<(), OsError> {
    create_new(path).map(drop)
}

/// Makes the sidecar that [`crate::with_lock`] locks; one that is there already is fine. It must never be
/// renamed or deleted but together with everything it guards.
///
/// # Errors
/// [`OsError::Gone`] if its directory is missing: a deleted team is not revived by its sidecars.
/// [`OsError::NotOurs`] if something else is in its place.
pub fn create_sidecar(path: &Path) -> Result<(), OsError> {
    match create_private_file(path) {
        Err(OsError::Exists { .. }) => match open_own(path, OFlags::RDWR)? {
            Some(_) => Ok(()),
            None => Err(OsError::Gone {
                path: path.to_owned(),
            }),
        },
        done => done,
    }
}

/// Makes one empty file with mode 0600 and opens it for appending.
pub(crate) fn create_new(path: &Path) -> Result<File, OsError> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = match retrying(|| rustix::fs::open(path, flags, PRIVATE_FILE)) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::EXIST) => {
            return Err(OsError::Exists {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(OsError::gone_or_io(path, "make", error)),
    };
    widen_file(path, &file, PRIVATE_FILE)?;
    Ok(file)
}

/// Gives back the owner's bits that an unusual umask took away.
fn widen_to(path: &Path, wanted: Mode) -> Result<(), OsError> {
    let metadata =
        fs::symlink_metadata(path).map_err(|error| OsError::gone_or_io(path, "look at", error))?;
    let wanted = wanted.as_raw_mode();
    if metadata.mode() & wanted != wanted {
        fs::set_permissions(path, Permissions::from_mode(wanted))
            .map_err(|error| OsError::io(path, "make private", error))?;
    }
    Ok(())
}

/// The same for an open file.
pub(crate) fn widen_file(path: &Path, file: &File, wanted: Mode) -> Result<(), OsError> {
    let failed = |error| OsError::io(path, "make private", error);
    let mode = file.metadata().map_err(failed)?.mode();
    let wanted = wanted.as_raw_mode();
    if mode & wanted != wanted {
        file.set_permissions(Permissions::from_mode(wanted))
            .map_err(failed)?;
    }
    Ok(())
}
