//! Checks of the config directory.

use std::io;
use std::path::Path;

use rustix::fs::{Access, access};
use swarm_os::{OsError, ensure_private_dir, lock_support, shared_file_system};
use swarm_protocol::with_causes;

use crate::failure::{Failure, Result};

/// Returns an error if the config directory cannot be read. A missing directory is valid.
pub(crate) fn check(root: &Path) -> Result<()> {
    match root.metadata() {
        Ok(found) if !found.is_dir() => Err(unusable(root, "it is not a directory")),
        Ok(_) => access(root, Access::READ_OK | Access::EXEC_OK)
            .map_err(|error| unusable(root, &io::Error::from(error).to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unusable(root, &error.to_string())),
    }
}

/// Creates the config directory if it is missing, and returns an error if it is not writable.
pub(crate) fn make(root: &Path) -> Result<()> {
    let made = if root.exists() {
        Ok(())
    } else {
        ensure_private_dir(root)
    };
    match made.and_then(|()| lock_support(root)) {
        // On file systems without reliable flock, the store uses another locking protocol.
        Ok(support) if support.needs_directory_only() && shared_file_system(root).is_none() => {
            Err(unusable(
                root,
                "its file system does not support locks, so messages would be lost",
            ))
        }
        Ok(_) => Ok(()),
        Err(OsError::Gone(_)) => Err(unusable(root, "no files can be created in it")),
        Err(error) => Err(unusable(root, &with_causes(&error))),
    }
}

fn unusable(root: &Path, why: &str) -> Failure {
    let message = format!(
        "the config directory {} cannot be used: {why}",
        root.display()
    );
    Failure::environment(message)
        .with_hint("make it writable, or set CLAUDE_CONFIG_DIR to a directory on a local disk")
}
