//! The file that keeps what a member printed.

use std::fs::OpenOptions;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use swarm_fs::FsError;

use crate::PaneError;

/// Makes the file with mode 0600, or accepts the one that an earlier spawn of the member left.
///
/// # Errors
/// [`PaneError::File`] when the folder is missing or something else is in its place.
pub(crate) fn prepare(path: &Path) -> Result<(), PaneError> {
    match swarm_fs::create_private_file(path) {
        Err(FsError::Exists { .. }) => {
            let metadata = std::fs::symlink_metadata(path);
            if metadata
                .map_err(|e| PaneError::io("look at", path, e))?
                .is_file()
            {
                return end_last_line(path);
            }
            Err(PaneError::Invalid {
                what: "output file",
                given: path.display().to_string(),
                why: "something that is no plain file is in its place",
            })
        }
        made => Ok(made?),
    }
}

/// An earlier spawn that was killed may have stopped in the middle of a line; the next one begins on its own.
fn end_last_line(path: &Path) -> Result<(), PaneError> {
    let io = |error| PaneError::io("end the last line of", path, error);
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .open(path)
        .map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1)).map_err(io)?;
    file.read_exact(&mut last).map_err(io)?;
    if last != [b'\n'] {
        file.write_all(b"\n").map_err(io)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_a_killed_spawn_begins_on_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        prepare(&path).unwrap();
        for (before, after) in [("", ""), ("whole\n", "whole\n"), ("hal", "whole\nhal\n")] {
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(before.as_bytes()).unwrap();
            prepare(&path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
