//! Files that an agent has read, so that it does not overwrite unseen changes.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that one agent has read or written, by resolved path, with their stamps. A sub-agent
/// starts with a clone of its parent's state; afterwards the two are independent.
#[derive(Debug, Clone, Default)]
pub struct FileState {
    stamps: HashMap<PathBuf, Stamp>,
}

/// Metadata and content hash of a file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    /// Hash of the content, if all of it was read.
    hash: Option<u64>,
}

/// Result of comparing a file with its recorded stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The file is unchanged since it was read.
    Known,
    NeverRead,
    /// Another process changed the file after it was read.
    Changed {
        /// Recorded hash, if the whole file was read.
        seen: Option<u64>,
        /// Current hash, if the whole file was read.
        now: Option<u64>,
    },
}

impl Stamp {
    /// Creates the stamp of a file with the content `bytes`.
    pub(crate) fn of(metadata: &Metadata, bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::default();
        hasher.add(bytes);
        Self::with_hash(metadata, Some(hasher.finish()))
    }

    /// Creates the stamp of a file whose hash is already known, or that was not read completely.
    pub(crate) fn with_hash(metadata: &Metadata, hash: Option<u64>) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            hash,
        }
    }

    /// Whether the file is unchanged according to its metadata.
    pub(crate) fn same_metadata(&self, metadata: &Metadata) -> bool {
        *self == Self::with_hash(metadata, self.hash)
    }

    /// Whether both stamps have the same content. If both have a hash, times and inode are ignored:
    /// the file may have been restored, or written twice within one clock tick.
    fn same_content(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(one), Some(two)) => one == two && self.len == other.len,
            _ => {
                Self {
                    hash: None,
                    ..*self
                } == Self {
                    hash: None,
                    ..*other
                }
            }
        }
    }
}

/// Incremental content hash to detect changes; not cryptographic.
#[derive(Debug, Default)]
pub(crate) struct ContentHasher(DefaultHasher);

impl ContentHasher {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl FileState {
    /// Records the stamp of a file that was read or written.
    pub(crate) fn record(&mut self, real: &Path, stamp: Stamp) {
        self.stamps.insert(real.to_owned(), stamp);
    }

    /// Compares the current stamp of a file with the recorded one.
    pub(crate) fn check(&self, real: &Path, stamp: &Stamp) -> Freshness {
        match self.stamps.get(real) {
            None => Freshness::NeverRead,
            Some(seen) if seen.same_content(stamp) => Freshness::Known,
            Some(seen) => Freshness::Changed {
                seen: seen.hash,
                now: stamp.hash,
            },
        }
    }
}
