//! JSON files that are read and replaced as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use swarm_os::{read_optional, replace_alone};

use crate::{Result, WorktreeError};

/// Reads a file; `None` if it does not exist.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(bytes) = read_optional(path)? else {
        return Ok(None);
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(damaged(path))
}

/// Replaces a file.
pub(crate) fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    // Only fails for paths that are not valid UTF-8.
    let bytes = serde_json::to_vec_pretty(value).map_err(damaged(path))?;
    Ok(replace_alone(path, &bytes)?)
}

/// Returns the paths of the `.json` files in a directory; none if it does not exist.
pub(crate) fn paths_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(WorktreeError::at(directory))?,
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let is_json = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    };
    Ok(paths.filter(is_json).collect())
}

fn damaged(path: &Path) -> impl Fn(serde_json::Error) -> WorktreeError {
    move |error| WorktreeError::damaged(path, &error.to_string())
}
