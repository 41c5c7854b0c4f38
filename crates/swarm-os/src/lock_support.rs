//! Checks whether a file system supports the operations that locks require.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Mode;

use crate::OsError;
use crate::error::OnPath as _;
use crate::flock::retrying_interrupted;
use crate::replace::create_temporary;

/// Lock features of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockSupport {
    /// Two opens of one file exclude each other by flock.
    pub flock: bool,
    /// A directory created with the sticky bit keeps it.
    pub sticky: bool,
}

impl LockSupport {
    /// Returns whether [`crate::LockOptions::directory_only`] is required.
    pub fn needs_directory_only(self) -> bool {
        !(self.flock && self.sticky)
    }
}

/// Tests both features in `directory`, with temporary files that are removed again.
///
/// # Errors
/// [`OsError::Gone`] if the directory is missing, [`OsError::Io`] if nothing can be created in it.
pub fn lock_support(directory: &Path) -> Result<LockSupport, OsError> {
    let probe = create_temporary(&directory.join("probe"))?;
    let second = File::open(probe.path()).or_gone(probe.path(), "open")?;
    let flock = retrying_interrupted(|| probe.as_file().lock()).is_ok()
        && matches!(second.try_lock(), Err(TryLockError::WouldBlock));

    // With the suffix of temporary files, so that it is removed later if this process is killed
    // here.
    let marked = probe.path().with_extension("dir.swarm-tmp");
    rustix::fs::mkdir(&marked, Mode::RWXU | Mode::SVTX).or_gone(&marked, "create the directory")?;
    let sticky = marked
        .symlink_metadata()
        .is_ok_and(|made| made.mode() & Mode::SVTX.as_raw_mode() != 0);
    rustix::fs::rmdir(&marked).or_io(&marked, "remove")?;
    Ok(LockSupport { flock, sticky })
}
