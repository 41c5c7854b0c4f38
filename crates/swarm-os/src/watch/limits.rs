//! Inotify limits and usage of a user (`inotify(7)`).

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Inotify limits of a user, and the number of instances in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InotifyUse {
    /// Instances of this user's visible processes.
    pub used: usize,
    /// Maximum number of instances.
    pub instances: usize,
    /// Maximum number of watches.
    pub watches: usize,
}

/// Returns limits and usage of this user, or `None` if the limits cannot be read.
pub fn inotify_use() -> Option<InotifyUse> {
    let limit = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
        text.trim().parse::<usize>().ok()
    };
    Some(InotifyUse {
        instances: limit("max_user_instances")?,
        watches: limit("max_user_watches")?,
        used: instances_in_use(),
    })
}

/// Counts the inotify instances of this user's processes.
fn instances_in_use() -> usize {
    let own = rustix::process::getuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| process.metadata().is_ok_and(|meta| meta.uid() == own))
        .filter_map(|process| fs::read_dir(process.path().join("fd")).ok())
        .flat_map(Iterator::flatten)
        .filter(|fd| {
            fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == "anon_inode:inotify")
        })
        .count()
}
