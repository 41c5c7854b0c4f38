//! Whether a file system keeps the promises that locks build on.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Mode;

use crate::OsError;
use crate::replace::empty_beside;
use crate::waiting::retrying_interrupted;

/// What a directory's file system can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorSupport {
    /// Two opens of one file exclude each other by flock.
    pub flock: bool,
    /// A directory made with the sticky bit has it.
    pub sticky: bool,
}

impl DoorSupport {
    /// Whether [`crate::LockOptions::directory_only`] is needed here.
    pub fn needs_directory_only(self) -> bool {
        !(self.flock && self.sticky)
    }
}

/// Tries both in `directory`, with temporary files that are gone on return.
///
/// # Errors
/// [`OsError::Gone`] if the directory is missing, [`OsError::Io`] if nothing can be made in it.
pub fn door_support(directory: &Path) -> Result<DoorSupport, OsError> {
    let tried = empty_beside(&directory.join("door"))?;
    let second = File::open(tried.path())
        .map_err(|error| OsError::gone_or_io(tried.path(), "open", error))?;
    let flock = retrying_interrupted(|| tried.as_file().lock()).is_ok()
        && matches!(second.try_lock(), Err(TryLockError::WouldBlock));

    // Named so that it is swept when this process is killed here.
    let marked = tried.path().with_extension("dir.swarm-tmp");
    rustix::fs::mkdir(&marked, Mode::RWXU | Mode::SVTX)
        .map_err(|error| OsError::gone_or_io(&marked, "make the directory", error))?;
    let sticky = marked
        .symlink_metadata()
        .is_ok_and(|made| made.mode() & Mode::SVTX.as_raw_mode() != 0);
    rustix::fs::rmdir(&marked).map_err(|error| OsError::io(&marked, "remove", error))?;
    Ok(DoorSupport { flock, sticky })
}
