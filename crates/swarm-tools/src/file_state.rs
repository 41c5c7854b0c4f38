//! Which files an agent has seen, so that it overwrites nothing it does not know.

use std::collections::HashMap;
use std::path::PathBuf;

/// The files that one agent has read or written, by resolved path, and how they were then.
#[derive(Debug, Default)]
pub struct FileState {
    seen: HashMap<PathBuf, u64>,
}

impl FileState {
    /// Nothing seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many files are known.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether no file is known.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }
}
