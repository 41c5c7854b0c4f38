//! Checks of the config directory and the kernel's file watching.

use std::path::Path;

use swarm_config::Environment;
use swarm_os::{InotifyUse, OsError, inotify_use};
use swarm_protocol::with_causes;

use super::finding::Finding;

/// Free bytes below which even a short run fails.
const FULL: u64 = 1 << 20;

/// Free bytes below which the disk may soon be full: a long conversation takes several megabytes.
const LOW: u64 = 100 << 20;

/// inotify instances that a team of thirty may need.
const INSTANCES: usize = 32;

pub(super) fn check(env: &Environment) -> Vec<Finding> {
    let mut findings = match env.root() {
        Ok(root) => vec![config_directory(&root)],
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            vec![Finding::missing(
                "config directory",
                with_causes(&error),
                hint,
            )]
        }
    };
    findings.extend(inotify());
    findings
}

fn config_directory(root: &Path) -> Finding {
    const NAME: &str = "config directory";
    let elsewhere = "make it writable, or set CLAUDE_CONFIG_DIR to a directory on a local disk";
    // A missing directory will be created in its nearest existing parent.
    let Some(nearest) = root.ancestors().find(|directory| directory.exists()) else {
        return Finding::missing(
            NAME,
            format!("{} cannot be created", root.display()),
            elsewhere,
        );
    };
    if !nearest.is_dir() {
        let found = format!("{} is not a directory", nearest.display());
        return Finding::missing(NAME, found, elsewhere);
    }
    let support = match swarm_os::lock_support(nearest) {
        Ok(support) => support,
        Err(OsError::Gone(_)) => {
            let found = format!("cannot create files in {}", nearest.display());
            return Finding::missing(NAME, found, elsewhere);
        }
        Err(error) => {
            let found = format!(
                "cannot write to {}: {}",
                nearest.display(),
                with_causes(&error)
            );
            return Finding::missing(NAME, found, elsewhere);
        }
    };
    let free = swarm_os::free_space(nearest).unwrap_or(u64::MAX);
    if free < LOW {
        let (found, hint) = (
            scarce(root, free),
            "free disk space, or set CLAUDE_CONFIG_DIR to a directory on another disk",
        );
        return if free < FULL {
            Finding::missing(NAME, found, hint)
        } else {
            Finding::warning(NAME, found, hint)
        };
    }
    if let Some(kind) = swarm_os::shared_file_system(nearest) {
        let found = format!(
            "{} is on {kind}: locks are directories there, which is slow, and all processes of a team must run on one machine",
            root.display()
        );
        return Finding::warning(
            NAME,
            found,
            "set CLAUDE_CONFIG_DIR to a directory on a local disk",
        );
    }
    let lacks = match (support.flock, support.sticky) {
        (true, true) if nearest == root => return Finding::ok(NAME, root.display().to_string()),
        (true, true) => {
            let found = format!("{} is created with the first team", root.display());
            return Finding::ok(NAME, found);
        }
        (false, _) => "does not support locks (flock)",
        (true, false) => "does not support the sticky bit on directories",
    };
    let found = format!(
        "the file system of {} {lacks}; messages could be lost",
        nearest.display()
    );
    Finding::missing(
        NAME,
        found,
        "set CLAUDE_CONFIG_DIR to a directory on a local disk",
    )
}

/// Returns the finding for a disk with this many free bytes.
fn scarce(root: &Path, free: u64) -> String {
    let root = root.display();
    match free {
        0 => format!("the disk of {root} is full"),
        1..FULL => format!(
            "the disk of {root} is nearly full ({} KiB left)",
            free >> 10
        ),
        _ => format!("the disk of {root} has only {} MiB left", free >> 20),
    }
}

/// Returns how many more inotify instances this user can create; `None` if the kernel does not
/// report it.
fn inotify() -> Option<Finding> {
    const NAME: &str = "inotify";
    let InotifyUse {
        used,
        instances,
        watches,
    } = inotify_use()?;
    let found = format!("{used} of {instances} watchers in use, {watches} watches at most");
    if used + INSTANCES <= instances {
        return Some(Finding::ok(NAME, found));
    }
    let hint = "without a free watcher, mail arrives seconds late: `sysctl fs.inotify.max_user_instances=1024`";
    Some(Finding::warning(NAME, found, hint))
}
