//! Output files of members.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::PaneError;

/// Maximum number of bytes read from the end of an output file.
const TAIL_BYTES: u64 = 256 * 1024;

/// Opens the file, creating it with mode 0600 unless an earlier spawn of the member left one. That
/// spawn may have been killed in the middle of a line; the new output starts on a new line.
///
/// # Errors
/// [`PaneError`] if the directory is missing or the path is not a regular file.
pub(crate) fn open(path: &Path) -> Result<File, PaneError> {
    Ok(swarm_os::open_for_appending(path)?)
}

/// Opens the file like [`open`]. Returns also its length in bytes, which is where the output of a
/// program begins that is started now.
pub(crate) fn open_with_length(path: &Path) -> Result<(File, u64), PaneError> {
    let file = open(path)?;
    let facts = file.metadata();
    let length = facts.map_err(|e| PaneError::io("inspect", path, e))?.len();
    Ok((file, length))
}

/// Returns the end of a file, excluding its first `start` bytes.
pub(crate) fn read_tail(path: &Path, start: u64) -> Result<String, PaneError> {
    let length = path
        .metadata()
        .map_err(|e| PaneError::io("read", path, e))?;
    let own = length.len().saturating_sub(start).min(TAIL_BYTES);
    let Some(bytes) = swarm_os::read_ending(path, own)? else {
        return Err(PaneError::io(
            "read",
            path,
            io::Error::from(ErrorKind::NotFound),
        ));
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn output_after_a_killed_spawn_starts_on_a_new_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output.log");
        for (before, after) in [("", ""), ("whole\n", "whole\n"), ("hal", "whole\nhal\n")] {
            open(&path).unwrap().write_all(before.as_bytes()).unwrap();
            open(&path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
