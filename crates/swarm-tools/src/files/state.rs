//! Which files an agent has seen, so that it overwrites nothing it does not know.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that one agent has read or written, by resolved path, and how they were then. A sub-agent begins with a
/// clone of its parent's: what either of them sees afterwards is its own knowledge.
#[derive(Debug, Clone, Default)]
pub struct FileState {
    seen: HashMap<PathBuf, Stamp>,
}

/// How a file was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    /// Of the content, where the whole of it was read.
    hash: Option<u64>,
}

/// What the agent knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The file is as it was seen.
    Known,
    /// It was never read.
    NeverRead,
    /// It was changed since by somebody else.
    Changed {
        /// The hash of what was seen, where the whole of it was.
        seen: Option<u64>,
        /// The hash of what it holds now.
        now: Option<u64>,
    },
}

impl Stamp {
    /// The stamp of a file whose whole content is `bytes`.
    pub(crate) fn of(metadata: &Metadata, bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::default();
        hasher.add(bytes);
        Self::with_hash(metadata, Some(hasher.finish()))
    }

    /// The stamp of a file whose content was hashed on the way, or not read as a whole.
    pub(crate) fn with_hash(metadata: &Metadata, hash: Option<u64>) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            hash,
        }
    }

    /// Whether the file is unchanged as far as its metadata tells.
    pub(crate) fn same_metadata(&self, metadata: &Metadata) -> bool {
        *self == Self::with_hash(metadata, self.hash)
    }

    /// Whether both tell of the same content. Times and inode do not matter where the content itself was hashed: it
    /// may have been restored, or written twice within one tick of the clock.
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

/// Hashes content in pieces. It tells versions of one file apart and guards against nobody.
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
    /// Nothing seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes how a file was when it was read or written.
    pub(crate) fn saw(&mut self, real: &Path, stamp: Stamp) {
        self.seen.insert(real.to_owned(), stamp);
    }

    /// What is known of a file that is now as `stamp` tells.
    pub(crate) fn check(&self, real: &Path, stamp: &Stamp) -> Freshness {
        match self.seen.get(real) {
            None => Freshness::NeverRead,
            Some(seen) if seen.same_content(stamp) => Freshness::Known,
            Some(seen) => Freshness::Changed {
                seen: seen.hash,
                now: stamp.hash,
            },
        }
    }
}
