//! Whether a process lives where we live: same user, same files, same process numbers.

use std::fs;
use std::path::PathBuf;

/// Host and pid namespace of this process as `host#pid:[inode]`, within which a pid has its meaning. The namespace is empty
/// where it cannot be read. Asked by the kernel's own calls: a library that is loaded before ours (`LD_PRELOAD`) cannot
/// answer instead.
pub fn pid_space() -> String {
    let host = rustix::system::uname();
    let namespace = rustix::fs::readlink("/proc/self/ns/pid", Vec::new()).unwrap_or_default();
    format!(
        "{}#{}",
        host.nodename().to_string_lossy(),
        namespace.to_string_lossy()
    )
}

/// The user and the namespaces of a process (`namespaces(7)`). A part that cannot be read is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Surroundings {
    user: Option<String>,
    mounts: Option<PathBuf>,
    pids: Option<PathBuf>,
}

impl Surroundings {
    /// Our own.
    pub(super) fn own() -> Self {
        Self::of("self")
    }

    /// Whether a process has these surroundings. What cannot be read of it is not taken to be the same.
    pub(super) fn hold(&self, pid: i32) -> bool {
        *self == Self::of(&pid.to_string())
    }

    fn of(process: &str) -> Self {
        let directory = PathBuf::from("/proc").join(process);
        let namespace = |name: &str| fs::read_link(directory.join("ns").join(name)).ok();
        Self {
            user: fs::read_to_string(directory.join("status"))
                .ok()
                .and_then(|status| effective_user(&status)),
            mounts: namespace("mnt"),
            pids: namespace("pid"),
        }
    }
}

/// The second number of the line `Uid:` (`proc_pid_status(5)`).
fn effective_user(status: &str) -> Option<String> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(1).map(str::to_owned)
}
