//! Entries of writable directories that a sandbox cannot change.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

/// Content of a placeholder for `commondir`.
pub(super) const ITSELF: &str = ".\n";

/// Directory that covers reserved directories: read-only, and ignored by git.
pub(super) const RESERVED: &str = "/dev/.reserved";

/// An entry below a writable directory that a sandbox cannot change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FixedEntry {
    /// Its path, without symbolic links.
    pub path: PathBuf,
    /// What cannot be changed.
    pub kind: FixedKind,
}

/// What of a [`FixedEntry`] cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FixedKind {
    /// A directory keeps its place, and stays writable unless a directory above it is read-only.
    Pinned,
    /// A file or directory is read-only. Skipped if it does not exist.
    ReadOnly,
    /// Nothing can be created at this path. Until the sandbox ends, it is an empty directory, which
    /// git does not see.
    ReservedDirectory,
    /// The same for `commondir` in the directory of a main checkout: a file that names this directory
    /// itself, which for git is the same as no file (`gitrepository-layout(5)`).
    ReservedCommonDirectory,
}

impl FixedEntry {
    /// Whether a placeholder has to exist.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(
            self.kind,
            FixedKind::ReservedDirectory | FixedKind::ReservedCommonDirectory
        )
    }

    /// Whether this entry is reserved and a placeholder exists there, or something that looks like one.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        match self.kind {
            FixedKind::ReservedDirectory => is_empty_directory(&self.path),
            FixedKind::ReservedCommonDirectory => {
                let found = self.path.symlink_metadata();
                found.is_ok_and(|found| found.is_file())
                    && fs::read_to_string(&self.path).is_ok_and(|text| text == ITSELF)
            }
            FixedKind::Pinned | FixedKind::ReadOnly => false,
        }
    }

    /// Whether something is mounted at this path. A mount disappears when its file is replaced outside
    /// this mount namespace.
    pub(super) fn is_mounted(&self) -> bool {
        let found = statx(
            CWD,
            &self.path,
            AtFlags::SYMLINK_NOFOLLOW,
            StatxFlags::empty(),
        );
        // Kernels before 5.8 do not say.
        found.is_ok_and(|found| {
            let is_known = found
                .stx_attributes_mask
                .contains(StatxAttributes::MOUNT_ROOT);
            !is_known || found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        })
    }

    pub(super) fn is_covered(&self) -> bool {
        let cover = Path::new(RESERVED).symlink_metadata();
        is_same(self.path.symlink_metadata(), cover)
    }

    /// Returns what covers the placeholder, if anything.
    pub(super) fn cover(&self) -> Option<&'static str> {
        let is_directory = self.kind == FixedKind::ReservedDirectory;
        (is_directory && self.is_placeholder()).then_some(RESERVED)
    }
}

fn is_empty_directory(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_ok_and(|found| found.is_dir())
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns whether both are the same file or directory.
pub(super) fn is_same(one: io::Result<fs::Metadata>, other: io::Result<fs::Metadata>) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    matches!((one.map(identity), other.map(identity)), (Ok(one), Ok(other)) if one == other)
}
