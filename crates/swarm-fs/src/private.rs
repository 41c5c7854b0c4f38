//! Folders and files that only their owner can enter, whatever the umask says.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::FsError;
use crate::contained::{self, PRIVATE_FILE, not_ours, open_own, retrying};
use crate::disk::{Step, log};
use crate::pending_sync::PendingSync;
use crate::replace::open_folder;

/// Makes one folder with mode 0700.
///
/// # Errors
/// [`FsError::Exists`] if anything is there, [`FsError::Gone`] if the folder around it is missing.
pub fn create_private_dir(path: &Path) -> Result<(), FsError> {
    make_dir(path)?;
    log(Step::Entered, path);
    Ok(())
}

fn make_dir(path: &Path) -> Result<(), FsError> {
    match retrying(|| rustix::fs::mkdir(path, Mode::RWXU)) {
        Ok(()) => {}
        Err(Errno::EXIST) => {
            return Err(FsError::Exists {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(FsError::gone_or_io(path, "make the folder", error)),
    }
    // The umask can only have taken bits away, so nobody else could enter in between.
    widen_to(path, Mode::RWXU)
}

/// Makes a folder and the missing folders around it, each with mode 0700. What is there already stays as
/// it is. A power cut may undo it: see [`place_private_dir`].
///
/// # Errors
/// [`FsError::NotOurs`] if `path` is a symbolic link, not a folder, or another user's.
pub fn ensure_private_dir(path: &Path) -> Result<(), FsError> {
    let _left_to_the_kernel = place_private_dir(path)?;
    Ok(())
}

/// The same for a folder that is to outlive a power cut, once the result is synced. There is nothing to sync if the
/// folder was there.
///
/// # Errors
/// As [`ensure_private_dir`].
pub fn place_private_dir(path: &Path) -> Result<PendingSync, FsError> {
    let around = contained::folder_of(path);
    match create_private_dir(path) {
        Err(FsError::Gone { .. }) if around != path => {
            // Folders further out may be links (a home on another disk): only the last one is ours to judge.
            let outer = if around.is_dir() {
                PendingSync::default()
            } else {
                place_private_dir(around)?
            };
            match create_private_dir(path) {
                Err(FsError::Exists { .. }) => check_own_dir(path).map(|()| outer),
                made => Ok(made.and_then(|()| entry_of(around))?.and(outer)),
            }
        }
        Err(FsError::Exists { .. }) => check_own_dir(path).map(|()| PendingSync::default()),
        made => made.and_then(|()| entry_of(around)),
    }
}

/// A new entry in a folder.
fn entry_of(folder: &Path) -> Result<PendingSync, FsError> {
    Ok(PendingSync::entered(
        folder.to_owned(),
        open_folder(folder)?,
    ))
}

/// What was made in these folders without a wait for the disk.
///
/// # Errors
/// [`FsError::Gone`] if one is missing, [`FsError::Io`] if it cannot be opened.
pub fn made_in<'p>(folders: impl IntoIterator<Item = &'p Path>) -> Result<PendingSync, FsError> {
    folders
        .into_iter()
        .try_fold(PendingSync::default(), |all, folder| {
            Ok(all.and(entry_of(folder)?))
        })
}

/// Accepts a folder of this user that is not reached through a symbolic link in the last place.
///
/// # Errors
/// [`FsError::Gone`] if there is nothing, [`FsError::Io`] if it is no folder, [`FsError::NotOurs`] if it is another's.
pub fn check_own_dir(path: &Path) -> Result<(), FsError> {
    let metadata =
        fs::symlink_metadata(path).map_err(|error| FsError::gone_or_io(path, "look at", error))?;
    if metadata.is_symlink() {
        return Err(not_ours(path, "it is a symbolic link"));
    }
    if !metadata.is_dir() {
        let kind = io::ErrorKind::NotADirectory;
        return Err(FsError::io(path, "use the folder", kind));
    }
    contained::refuse_other_owner(path, &metadata)
}

/// Makes one empty file with mode 0600.
///
/// # Errors
/// [`FsError::Exists`] if anything is there, [`FsError::Gone`] if its folder is missing.
pub fn create_private_file(path: &Path) -> Result<(), FsError> {
    create_new(path).map(drop)
}

/// Makes the sidecar that [`crate::with_lock`] locks; one that is there already is fine. It must never be
/// renamed or deleted but together with everything it guards.
///
/// # Errors
/// [`FsError::Gone`] if its folder is missing: a deleted team is not revived by its sidecars.
/// [`FsError::NotOurs`] if something else is in its place.
pub fn create_sidecar(path: &Path) -> Result<(), FsError> {
    match create_private_file(path) {
        Err(FsError::Exists { .. }) => match open_own(path, OFlags::RDWR)? {
            Some(_) => Ok(()),
            None => Err(FsError::Gone {
                path: path.to_owned(),
            }),
        },
        done => done,
    }
}

/// Makes one empty file with mode 0600 and opens it for appending.
pub(crate) fn create_new(path: &Path) -> Result<File, FsError> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = match retrying(|| rustix::fs::open(path, flags, PRIVATE_FILE)) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::EXIST) => {
            return Err(FsError::Exists {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(FsError::gone_or_io(path, "make", error)),
    };
    widen_file(path, &file, PRIVATE_FILE)?;
    Ok(file)
}

/// Gives back the owner's bits that an unusual umask took away.
fn widen_to(path: &Path, wanted: Mode) -> Result<(), FsError> {
    let metadata =
        fs::symlink_metadata(path).map_err(|error| FsError::gone_or_io(path, "look at", error))?;
    let wanted = wanted.as_raw_mode();
    if metadata.mode() & wanted != wanted {
        fs::set_permissions(path, Permissions::from_mode(wanted))
            .map_err(|error| FsError::io(path, "make private", error))?;
    }
    Ok(())
}

/// The same for an open file.
pub(crate) fn widen_file(path: &Path, file: &File, wanted: Mode) -> Result<(), FsError> {
    let failed = |error| FsError::io(path, "make private", error);
    let mode = file.metadata().map_err(failed)?.mode();
    let wanted = wanted.as_raw_mode();
    if mode & wanted != wanted {
        file.set_permissions(Permissions::from_mode(wanted))
            .map_err(failed)?;
    }
    Ok(())
}
