#![allow(missing_docs, clippy::todo, unused_variables)]
use crate::FsError;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct LockOptions {
    pub deadline: Duration,
    pub directory_only: bool,
}
impl Default for LockOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(20),
            directory_only: false,
        }
    }
}

/// One sidecar guards a fixed set of data files; no data file may be locked under two sidecars.
#[derive(Debug, Clone, Copy)]
pub struct LockPlan<'a> {
    pub sidecar: &'a Path,
    pub data: &'a [PathBuf],
}

#[derive(Debug)]
pub struct Held {}

pub fn with_lock<T, E: From<FsError>>(
    plan: &LockPlan<'_>,
    options: &LockOptions,
    work: impl FnOnce(&Held) -> Result<T, E>,
) -> Result<T, E> {
    todo!()
}

impl Held {
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        todo!()
    }
    /// Only for data files of the same sidecar (task files under the list's); for another sidecar's file nest `with_lock`.
    pub fn also<T, E: From<FsError>>(
        &self,
        data: &Path,
        work: impl FnOnce(&Held) -> Result<T, E>,
    ) -> Result<T, E> {
        todo!()
    }
    /// A missing file is fine.
    pub fn remove(&self, path: &Path) -> Result<(), FsError> {
        todo!()
    }
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), FsError> {
        todo!()
    }
}
