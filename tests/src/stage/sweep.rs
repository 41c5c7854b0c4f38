//! Removes worlds of tests that were killed.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::marked::end_all;
use super::report::sorted;

/// Prefix of the names of worlds' directories.
pub(super) const PREFIX: &str = "sw.";
/// File in a world whose lock shows that its test is running.
pub(super) const LOCK: &str = "lock";

/// Removes worlds whose lock is free, with their processes.
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
        // A world that is being created has no lock file yet, and is kept.
        let Some(lock) = is_ours
            .then(|| File::open(directory.join(LOCK)).ok())
            .flatten()
        else {
            continue;
        };
        if lock.try_lock().is_ok() {
            end_all(&directory);
            // Two tests may clean up concurrently.
            drop(std::fs::remove_dir_all(&directory));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_of_killed_tests_are_removed() {
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
