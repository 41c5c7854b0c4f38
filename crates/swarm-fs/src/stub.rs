#![allow(missing_docs, clippy::todo, unused_variables)]
use crate::FsError;
use std::path::{Path, PathBuf};
use std::time::Duration;
pub fn replace_alone(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    todo!()
}
pub fn append_durable(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    todo!()
}
/// `None`: no such file.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, FsError> {
    todo!()
}
/// One folder, 0700; `Exists` if something is there, `Gone` if the parent is missing.
pub fn create_private_dir(path: &Path) -> Result<(), FsError> {
    todo!()
}
/// The folder and its missing ancestors, 0700; an existing folder of ours is fine.
pub fn ensure_private_dir(path: &Path) -> Result<(), FsError> {
    todo!()
}
/// One empty file, 0600; `Exists` if something is there.
pub fn create_private_file(path: &Path) -> Result<(), FsError> {
    todo!()
}
/// A sidecar for `with_lock`; one that is there already is fine, a missing folder is `Gone`.
pub fn create_sidecar(path: &Path) -> Result<(), FsError> {
    todo!()
}
pub fn rename_no_replace(from: &Path, to: &Path) -> Result<(), FsError> {
    todo!()
}
pub fn remove_tree(path: &Path) -> Result<(), FsError> {
    todo!()
}
pub fn set_aside(path: &Path) -> Result<PathBuf, FsError> {
    todo!()
}
/// Removes temporary files that killed writers left in a folder.
pub fn sweep_temporaries(folder: &Path, older_than: Duration) -> Result<usize, FsError> {
    todo!()
}
