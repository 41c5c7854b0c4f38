//! The file that keeps what a member printed.

use std::fs::File;
use std::path::Path;

use crate::PaneError;

/// Opens the file, which is made with mode 0600 unless an earlier spawn of the member left one. That may have been killed in
/// the middle of a line; the next one begins on its own.
///
/// # Errors
/// [`PaneError`] when the directory is missing or something else is in its place.
pub(crate) fn open(path: &Path) -> Result<File, PaneError> {
    Ok(swarm_os::open_for_appending(path)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_comes_after_a_killed_spawn_begins_on_a_line_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output.log");
        for (before, after) in [("", ""), ("whole\n", "whole\n"), ("hal", "whole\nhal\n")] {
            open(&path).unwrap().write_all(before.as_bytes()).unwrap();
            open(&path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
