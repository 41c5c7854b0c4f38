//! Flushes files and directories to disk. Every step that a power failure could undo and every
//! flush is logged at trace level, so that tests can check that each step is flushed before it is
//! reported as done.

use std::fs::File;
use std::path::Path;

use crate::OsError;
use crate::error::OnPath as _;

/// A step towards durable content, as logged under the target `swarm_os::disk`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// New content for a file, in its temporary file or at its end.
    Wrote,
    /// The content was flushed.
    Flushed,
    /// What is at this path was moved; the next step of the thread is its new entry.
    Left,
    /// The entry of this path was added to its directory or removed from it.
    Entered,
    /// The entries of this directory were flushed.
    FlushedDirectory,
}

pub(crate) fn log(step: Step, path: &Path) {
    tracing::trace!(target: "swarm_os::disk", step = ?step, path = %path.display());
}

/// Flushes the content of a file and the metadata needed to read it. `path` is the present or
/// future name of the file.
pub(crate) fn flush_content(path: &Path, file: &File, op: &'static str) -> Result<(), OsError> {
    file.sync_data()
        .map_err(|error| OsError::io(path, op, error))?;
    log(Step::Flushed, path);
    Ok(())
}

/// Flushes the entries of a directory: without it, a power failure can undo a rename or a file
/// creation.
pub(crate) fn flush_directory(path: &Path, opened: &File) -> Result<(), OsError> {
    opened.sync_all().or_io(path, "sync the directory")?;
    log(Step::FlushedDirectory, path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushing_a_pipe_fails() {
        let (pipe, _other_end) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        let path = Path::new("a pipe");
        flush_content(path, &pipe, "sync").unwrap_err();
        flush_directory(path, &pipe).unwrap_err();
    }
}
