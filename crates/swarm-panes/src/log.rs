//! Output files of members.

use std::fs::File;
use std::path::Path;

use crate::PaneError;

/// Opens the file, creating it with mode 0600 unless an earlier spawn of the member left one. That
/// spawn may have been killed in the middle of a line; the new output starts on a new line.
///
/// # Errors
/// [`PaneError`] if the directory is missing or the path is not a regular file.
/// [`PaneError`] when the directory is missing or something else is in its place.
pub(crate) fn open(path: &Path) -> Result<File, PaneError> {
    Ok(swarm_os::open_for_appending(path)?)
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
