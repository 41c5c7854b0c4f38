//! Directories and files that only their owner can access, under any umask.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::OsError;
use crate::contained::{self, PRIVATE_FILE, not_ours, open_own, retrying};
use crate::disk::{Step, log};
use crate::error::OnPath as _;
use crate::pending_sync::PendingSync;

/// Creates a directory with mode 0700.
///
/// # Errors
/// [`OsError::Exists`] if the path exists, [`OsError::Gone`] if its parent directory is missing.
pub fn create_private_dir(path: &Path) -> Result<(), OsError> {
    create_dir(path)?;
    log(Step::Entered, path);
    Ok(())
}

fn create_dir(path: &Path) -> Result<(), OsError> {
    retrying(|| rustix::fs::mkdir(path, Mode::RWXU)).or_gone(path, "create the directory")?;
    // The umask can only remove bits, so no other user could access the directory in the meantime.
    widen_to(path, Mode::RWXU)
}

/// Creates a directory and its missing parent directories, each with mode 0700. Existing
/// directories are not changed. A power failure may undo it, see [`place_private_dir`].
///
/// # Errors
/// [`OsError::NotOurs`] if `path` is a symbolic link or belongs to another user, [`OsError::Io`] if
/// it is not a directory.
pub fn ensure_private_dir(path: &Path) -> Result<(), OsError> {
    let _left_to_the_kernel = place_private_dir(path)?;
    Ok(())
}

/// Like [`ensure_private_dir`], and returns the pending sync after which the directory survives a
/// power failure. It is empty if the directory existed.
pub fn place_private_dir(path: &Path) -> Result<PendingSync, OsError> {
    let parent = contained::directory_of(path);
    match create_private_dir(path) {
        Err(OsError::Gone(_)) if parent != path => {
            // Parent directories may be links (a home directory on another disk): only the last
            // component is checked.
            let outer = if parent.is_dir() {
                PendingSync::default()
            } else {
                place_private_dir(parent)?
            };
            match create_private_dir(path) {
                Err(OsError::Exists(_)) => check_own_dir(path).map(|()| outer),
                made => Ok(made
                    .and_then(|()| PendingSync::entered_in(parent))?
                    .and(outer)),
            }
        }
        Err(OsError::Exists(_)) => check_own_dir(path).map(|()| PendingSync::default()),
        made => made.and_then(|()| PendingSync::entered_in(parent)),
    }
}

/// Returns the pending sync of everything that was created in these directories.
///
/// # Errors
/// [`OsError::Gone`] if one is missing, [`OsError::Io`] if it cannot be opened.
pub fn made_in<'p>(
    directories: impl IntoIterator<Item = &'p Path>,
) -> Result<PendingSync, OsError> {
    directories
        .into_iter()
        .try_fold(PendingSync::default(), |all, directory| {
            Ok(all.and(PendingSync::entered_in(directory)?))
        })
}

/// Checks that a path is a directory of this user and not a symbolic link.
///
/// # Errors
/// [`OsError::Gone`] if it does not exist, [`OsError::Io`] if it is not a directory,
/// [`OsError::NotOurs`] if it is a symbolic link or belongs to another user.
pub fn check_own_dir(path: &Path) -> Result<(), OsError> {
    let metadata = fs::symlink_metadata(path).or_gone(path, "inspect")?;
    if metadata.is_symlink() {
        return Err(not_ours(path, "it is a symbolic link"));
    }
    if !metadata.is_dir() {
        let kind = io::ErrorKind::NotADirectory;
        return Err(OsError::io(path, "use the directory", kind));
    }
    contained::refuse_other_owner(path, &metadata)
}

/// Creates an empty file with mode 0600.
///
/// # Errors
/// [`OsError::Exists`] if the path exists, [`OsError::Gone`] if its directory is missing.
pub fn create_private_file(path: &Path) -> Result<(), OsError> {
    create_new(path)?;
    log(Step::Entered, path);
    Ok(())
}

/// Creates the sidecar that [`crate::with_lock`] locks. Succeeds if it exists. A sidecar must only
/// be renamed or deleted together with all files that it protects.
///
/// # Errors
/// [`OsError::Gone`] if its directory is missing: a deleted team is not created again.
/// [`OsError::NotOurs`] if the path is not a regular file of this user.
pub fn create_sidecar(path: &Path) -> Result<(), OsError> {
    match create_private_file(path) {
        Err(OsError::Exists(_)) => {
            let found = open_own(path, OFlags::RDWR)?;
            found.map(drop).ok_or_else(|| OsError::gone(path))
        }
        done => done,
    }
}

/// Creates an empty file with mode 0600 and opens it for appending.
pub(crate) fn create_new(path: &Path) -> Result<File, OsError> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = retrying(|| rustix::fs::open(path, flags, PRIVATE_FILE));
    let file = File::from(opened.or_gone(path, "create")?);
    widen_file(path, &file, PRIVATE_FILE)?;
    Ok(file)
}

/// Restores permission bits of the owner that an unusual umask removed.
fn widen_to(path: &Path, wanted: Mode) -> Result<(), OsError> {
    let metadata = fs::symlink_metadata(path).or_gone(path, "inspect")?;
    let wanted = wanted.as_raw_mode();
    if metadata.mode() & wanted != wanted {
        fs::set_permissions(path, Permissions::from_mode(wanted)).or_io(path, "make private")?;
    }
    Ok(())
}

/// Like [`widen_to`], for an open file.
pub(crate) fn widen_file(path: &Path, file: &File, wanted: Mode) -> Result<(), OsError> {
    let mode = file.metadata().or_io(path, "make private")?.mode();
    let wanted = wanted.as_raw_mode();
    if mode & wanted != wanted {
        file.set_permissions(Permissions::from_mode(wanted))
            .or_io(path, "make private")?;
    }
    Ok(())
}
