//! The waits for the disk, all in one place. Each step that a power cut could undo is logged at trace level, and so is each
//! flush, so that tests can check that every step is flushed before it is reported as done.

use std::fs::File;
use std::path::Path;

use crate::OsError;

/// A step towards durable content, as logged under the target `swarm_os::disk`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// New content for a file, in its temporary file or at its end.
    Wrote,
    /// That content was flushed.
    Flushed,
    /// The directory got or lost the entry of this path.
    Entered,
    /// The entries of this directory were flushed.
    FlushedDirectory,
}

pub(crate) fn log(step: Step, path: &Path) {
    tracing::trace!(target: "swarm_os::disk", step = ?step, path = %path.display());
}

/// Flushes the content of a file and all that is needed to read it. `path` is the name that the file has or will get.
pub(crate) fn flush_content(path: &Path, file: &File, op: &'static str) -> Result<(), OsError> {
    file.sync_data()
        .map_err(|error| OsError::io(path, op, error))?;
    log(Step::Flushed, path);
    Ok(())
}

/// Flushes the entries of a directory: a rename or a new file is lost in a power cut without it.
pub(crate) fn flush_directory(path: &Path, opened: &File) -> Result<(), OsError> {
    opened
        .sync_all()
        .map_err(|error| OsError::io(path, "sync the directory", error))?;
    log(Step::FlushedDirectory, path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_asks_the_kernel_which_refuses_what_has_no_disk() {
        let (pipe, _other_end) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        let path = Path::new("a pipe");
        flush_content(path, &pipe, "sync").unwrap_err();
        flush_directory(path, &pipe).unwrap_err();
    }
}
