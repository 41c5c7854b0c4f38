//! The file that keeps what a member printed.

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
                return Ok(());
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
