//! How much of inotify the kernel grants a user, and how much is in use (`inotify(7)`).

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// What the kernel grants one user, and what is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InotifyUse {
    /// Instances of this user's processes, as far as they can be seen.
    pub used: usize,
    /// Instances that a user may have.
    pub instances: usize,
    /// Watches that a user may have.
    pub watches: usize,
}

/// The limits of inotify and what this user has of them. `None` where the kernel does not tell.
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

/// The inotify instances of this user's processes.
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
