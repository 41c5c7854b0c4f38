//! Removing what tests left behind that were killed themselves.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::marked::end_all;
use super::report::sorted;

/// How the names of worlds' directories begin.
pub(super) const PREFIX: &str = "sw.";
/// File in a world whose lock says that its test is still alive.
pub(super) const LOCK: &str = "lock";

/// Removes what tests left that were killed: worlds whose lock nobody holds, with their processes.
pub(super) fn sweep(place: &Path) {
    for directory in sorted(place) {
        let name = directory
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let is_ours = name.starts_with(PREFIX)
            && directory.is_dir()
            && directory
                .metadata()
                .is_ok_and(|found| found.permissions().mode() & 0o777 == 0o700);
        // A world that is being made has no lock file yet, and is left alone.
        let Some(lock) = is_ours
            .then(|| File::open(directory.join(LOCK)).ok())
            .flatten()
        else {
            continue;
        };
        if lock.try_lock().is_ok() {
            end_all(&directory);
            // Two tests may sweep at once.
            drop(std::fs::remove_dir_all(&directory));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_test_left_is_swept() {
        let place = tempfile::tempdir().unwrap();
        let abandoned = place.path().join(format!("{PREFIX}1.a"));
        let held = place.path().join(format!("{PREFIX}1.b"));
        let other = place.path().join("other");
        for directory in [&abandoned, &held, &other] {
            std::fs::create_dir(directory).unwrap();
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o700)).unwrap();
            File::create(directory.join(LOCK)).unwrap();
        }
        let lock = File::open(held.join(LOCK)).unwrap();
        lock.lock().unwrap();
        sweep(place.path());
        assert!(!abandoned.exists() && held.exists() && other.exists());
    }
}
