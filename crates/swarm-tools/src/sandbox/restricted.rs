//! Starts an agent's commands with Landlock rules, which the helper that starts them has set once.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::arguments::HelperArguments;
use super::landlock::granted_paths;
use super::launcher::Launcher;

/// The launcher of the last command. A command for which other rules are needed gets another one;
/// earlier commands keep theirs.
#[derive(Debug, Default)]
pub(super) struct RestrictedLauncher(Mutex<Option<Restricted>>);

#[derive(Debug)]
struct Restricted {
    arguments: HelperArguments,
    granted: Vec<Granted>,
    launcher: Arc<Launcher>,
}

/// What a rule is created for. The kernel forgets a rule with its file, also if another one has the same
/// path or number afterwards.
#[derive(Debug, PartialEq, Eq)]
struct Granted {
    path: PathBuf,
    /// Device, inode and time of creation; `None` if it does not exist.
    file: Option<(u64, u64, Option<SystemTime>)>,
}

impl Granted {
    fn of(path: PathBuf) -> Self {
        let found = path.symlink_metadata().ok();
        let file = found.map(|found| (found.dev(), found.ino(), found.created().ok()));
        Self { path, file }
    }
}

impl RestrictedLauncher {
    /// Returns the launcher of commands for which all of `arguments` holds.
    pub(super) fn launcher(&self, helper: &[String], arguments: HelperArguments) -> Arc<Launcher> {
        let granted = granted_paths(&arguments.view).into_iter();
        let granted: Vec<Granted> = granted.map(Granted::of).collect();
        let mut current = self.0.lock();
        let suits = |known: &&Restricted| known.arguments == arguments && known.granted == granted;
        if let Some(known) = current.as_ref().filter(suits) {
            return Arc::clone(&known.launcher);
        }
        let launcher = Arc::new(Launcher::new(helper, arguments.clone()));
        *current = Some(Restricted {
            arguments,
            granted,
            launcher: Arc::clone(&launcher),
        });
        launcher
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use swarm_os::namespaces::MountView;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files that only this test sees")]
    fn another_file_at_a_granted_path_needs_another_launcher() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for name in ["own", "hidden", "other"] {
            fs::write(base.join(name), "").unwrap();
        }
        let arguments = HelperArguments {
            view: MountView {
                writable: vec![base.join("own")],
                hidden: vec![base.join("hidden")],
                ..MountView::default()
            },
            ..HelperArguments::default()
        };
        let launchers = RestrictedLauncher::default();
        let mut last = launchers.launcher(&[], arguments.clone());
        assert!(Arc::ptr_eq(
            &last,
            &launchers.launcher(&[], arguments.clone())
        ));
        let mut changed = |arguments: &HelperArguments| {
            let next = launchers.launcher(&[], arguments.clone());
            !Arc::ptr_eq(&std::mem::replace(&mut last, Arc::clone(&next)), &next)
        };
        fs::write(base.join("hidden"), "more").unwrap();
        assert!(
            !changed(&arguments),
            "only the content of a file has changed"
        );
        for name in ["own", "other"] {
            fs::remove_file(base.join(name)).unwrap();
            fs::write(base.join(name), "").unwrap();
            assert!(changed(&arguments), "{name}");
        }
        fs::write(base.join("new"), "").unwrap();
        assert!(changed(&arguments));
        let open = HelperArguments {
            proxy_port: Some(7),
            ..arguments
        };
        assert!(changed(&open));
    }
}
