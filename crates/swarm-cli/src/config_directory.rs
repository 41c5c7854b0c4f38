//! Whether the config directory of all state can be used.

use std::io;
use std::path::Path;

use rustix::fs::{Access, access};
use swarm_os::{OsError, ensure_private_dir, lock_support, shared_file_system};
use swarm_protocol::ErrorKind;

use crate::failure::{Failure, with_causes};

/// Refuses a config directory that cannot be looked into. One that is not there yet is well.
///
/// # Errors
/// [`ErrorKind::Environment`].
pub(crate) fn check(root: &Path) -> Result<(), Failure> {
    match root.metadata() {
        Ok(found) if !found.is_dir() => Err(unusable(root, "it is not a directory")),
        Ok(_) => access(root, Access::READ_OK | Access::EXEC_OK)
            .map_err(|error| unusable(root, &io::Error::from(error).to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unusable(root, &error.to_string())),
    }
}

/// Makes the config directory where it is missing, and refuses one that nothing can be written into.
///
/// # Errors
/// [`ErrorKind::Environment`].
pub(crate) fn make(root: &Path) -> Result<(), Failure> {
    let made = if root.exists() {
        Ok(())
    } else {
        ensure_private_dir(root)
    };
    match made.and_then(|()| lock_support(root)) {
        // Where flock is not trusted, the store does without it.
        Ok(support) if support.needs_directory_only() && shared_file_system(root).is_none() => {
            Err(unusable(
                root,
                "its file system does not support locks, so messages would be lost",
            ))
        }
        Ok(_) => Ok(()),
        Err(OsError::Gone { .. }) => Err(unusable(root, "no files can be created in it")),
        Err(error) => Err(unusable(root, &with_causes(&error))),
    }
}

fn unusable(root: &Path, why: &str) -> Failure {
    let message = format!(
        "the config directory {} cannot be used: {why}",
        root.display()
    );
    Failure::new(ErrorKind::Environment, message)
        .with_hint("make it writable, or set CLAUDE_CONFIG_DIR to a directory on a local disk")
}
