//! Folders and files that only their owner can enter, whatever the umask says.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::FsError;
use crate::contained::{self, PRIVATE_FILE, not_ours, open_own, retrying};

/// Makes one folder with mode 0700.
///
/// # Errors
/// [`FsError::Exists`] if anything is there, [`FsError::Gone`] if the folder around it is missing.
pub fn create_private_dir(path: &Path) -> Result<(), FsError> {
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
/// it is.
///
/// # Errors
/// [`FsError::NotOurs`] if `path` is a symbolic link, not a folder, or another user's.
pub fn ensure_private_dir(path: &Path) -> Result<(), FsError> {
    match create_private_dir(path) {
        Err(FsError::Gone { .. }) if contained::folder_of(path) != path => {
            // Folders further out may be links (a home on another disk): only the last one is ours to judge.
            let outer = contained::folder_of(path);
            if !outer.is_dir() {
                ensure_private_dir(outer)?;
            }
            match create_private_dir(path) {
                Err(FsError::Exists { .. }) => check_own_dir(path),
                done => done,
            }
        }
        Err(FsError::Exists { .. }) => check_own_dir(path),
        done => done,
    }
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
    widen_to(path, PRIVATE_FILE)?;
    Ok(file)
}

/// Gives back the owner's bits that an unusual umask took away.
pub(crate) fn widen_to(path: &Path, wanted: Mode) -> Result<(), FsError> {
    let metadata =
        fs::symlink_metadata(path).map_err(|error| FsError::gone_or_io(path, "look at", error))?;
    let wanted = wanted.as_raw_mode();
    if metadata.mode() & wanted != wanted {
        fs::set_permissions(path, Permissions::from_mode(wanted))
            .map_err(|error| FsError::io(path, "make private", error))?;
    }
    Ok(())
}
