//! Moves and removes files and directories.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Mode, RenameFlags};
use rustix::io::Errno;

use crate::OsError;
use crate::contained::{directory_of, metadata_at, not_ours, open_directory, retrying};
use crate::disk::{Step, log};
use crate::error::OnPath as _;
use crate::pending_sync::PendingSync;

/// Renames a file or directory without replacing `to`. On return the rename is on disk.
///
/// # Errors
/// [`OsError::Exists`] if `to` exists, [`OsError::Gone`] if `from` or the directory of `to` is
/// missing.
pub fn rename_no_replace(from: &Path, to: &Path) -> Result<(), OsError> {
    // Opened first: after the rename only the sync can fail.
    let directory = open_directory(directory_of(to))?;
    match retrying(|| rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)) {
        Ok(()) => {}
        // Some network file systems do not support rename flags.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => claim_and_rename(from, to)?,
        Err(error) => return Err(rename_error(from, to, error.into())),
    }
    log(Step::Left, from);
    log(Step::Entered, to);
    PendingSync::entered(directory_of(to).to_owned(), directory).sync()
}

/// Renames in two steps, the first of which fails if `to` exists.
fn claim_and_rename(from: &Path, to: &Path) -> Result<(), OsError> {
    let is_dir = fs::symlink_metadata(from)
        .or_gone(from, "inspect")?
        .is_dir();
    if is_dir {
        rustix::fs::mkdir(to, Mode::RWXU).map_err(|error| rename_error(from, to, error.into()))?;
        fs::rename(from, to).map_err(|error| rename_error(from, to, error))
    } else {
        fs::hard_link(from, to).map_err(|error| rename_error(from, to, error))?;
        fs::remove_file(from).or_io(from, "remove the old name")
    }
}

fn rename_error(from: &Path, to: &Path, error: io::Error) -> OsError {
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => OsError::exists(to),
        io::ErrorKind::NotFound if fs::symlink_metadata(from).is_ok() => {
            OsError::gone(directory_of(to))
        }
        _ => OsError::gone_or_io(from, "rename", error),
    }
}

/// Renames a damaged file to `<name>.damaged-<milliseconds since 1970>` in its directory and
/// returns the new path. The content is kept, and a valid file can be created at the old path.
///
/// # Errors
/// [`OsError::Gone`] if the file does not exist.
pub fn quarantine(path: &Path) -> Result<PathBuf, OsError> {
    let mut stamp = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    loop {
        let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".damaged-{stamp}"));
        let aside = path.with_file_name(name);
        match rename_no_replace(path, &aside) {
            Err(OsError::Exists(_)) => stamp += 1,
            done => return done.map(|()| aside),
        }
    }
}

/// Removes a file. Succeeds if it does not exist.
///
/// # Errors
/// The error of the system.
pub fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a directory tree without following symbolic links. Succeeds if it does not exist. Rename
/// a shared directory first, so that no other process adds files to it.
///
/// # Errors
/// [`OsError::NotOurs`] if `path` itself is not a directory.
pub fn remove_tree(path: &Path) -> Result<(), OsError> {
    match metadata_at(path)? {
        None => Ok(()),
        Some(found) if !found.is_dir() => Err(not_ours(path, "it is not a directory")),
        Some(_) => fs::remove_dir_all(path).or_none(path, "remove").map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fallback_rename_does_not_replace_existing_paths() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        for name in ["team", "empty"] {
            fs::create_dir(path(name)).unwrap();
            fs::create_dir(path(name).join("inside")).unwrap();
        }
        fs::remove_dir(path("empty").join("inside")).unwrap();
        crate::create_private_file(&path("file")).unwrap();
        for (from, to) in [("team", "empty"), ("team", "file"), ("file", "empty")] {
            let refused = claim_and_rename(&path(from), &path(to));
            assert!(matches!(refused, Err(OsError::Exists(_))), "{refused:?}");
        }
        claim_and_rename(&path("team"), &path("moved")).unwrap();
        claim_and_rename(&path("file"), &path("moved file")).unwrap();
        assert!(path("moved").join("inside").is_dir());
        assert!(path("moved file").is_file());
        assert!(!path("team").exists() && !path("file").exists());
    }
}
