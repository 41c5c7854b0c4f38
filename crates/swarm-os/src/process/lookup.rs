//! Further files of a process in `/proc`, see `proc(5)`: its arguments, user and namespaces, to
//! recognize processes of other users and containers.

use std::path::PathBuf;
use std::{fs, io};

/// Returns the pids of all visible processes in no particular order. Empty without `/proc`.
pub fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the first 15 bytes of the program name of a process (`comm`).
pub fn program_name(pid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// Returns the working directory of a process, without symbolic links.
///
/// # Errors
/// `PermissionDenied` for a process of another user or one that is not dumpable, `NotFound` if the
/// process has exited.
pub fn working_directory(pid: u32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

/// Returns the arguments of a process, each followed by a zero byte.
///
/// # Errors
/// `NotFound` if the process has exited.
pub fn arguments(pid: u32) -> io::Result<Vec<u8>> {
    fs::read(format!("/proc/{pid}/cmdline"))
}

/// Returns host and pid namespace of this process as `host#pid:[inode]`. A pid is unique within
/// them. The namespace is empty if it cannot be read. Uses system calls directly, so that a
/// preloaded library (`LD_PRELOAD`) cannot change the result.
pub fn pid_space() -> String {
    let host = rustix::system::uname();
    let namespace = rustix::fs::readlink("/proc/self/ns/pid", Vec::new()).unwrap_or_default();
    format!(
        "{}#{}",
        host.nodename().to_string_lossy(),
        namespace.to_string_lossy()
    )
}

/// User and namespaces of a process (`namespaces(7)`). A field is `None` if it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Surroundings {
    user: Option<String>,
    mounts: Option<PathBuf>,
    pids: Option<PathBuf>,
}

impl Surroundings {
    /// Returns those of this process.
    pub(super) fn own() -> Self {
        Self::of("self")
    }

    /// Returns whether a process has the same user and namespaces. `false` if one of them cannot be
    /// read.
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

/// Whether a process is in a pid namespace below that of this process, where it has one more number
/// (`NSpid` in `proc_pid_status(5)`).
pub(super) fn is_in_inner_namespace(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().count() > 1)
}

/// Returns the effective user id: the second number of the line `Uid:` (`proc_pid_status(5)`).
fn effective_user(status: &str) -> Option<String> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_listed_with_its_name_directory_and_arguments() {
        let own = std::process::id();
        assert!(pids().contains(&own));
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            working_directory(own).unwrap(),
            here.canonicalize().unwrap()
        );
        let words = arguments(own).unwrap();
        let program = words.split(|byte| *byte == 0).next().unwrap();
        let program = String::from_utf8_lossy(program).into_owned();
        let name = program_name(own).unwrap();
        assert!(
            !name.is_empty() && program.contains(&name),
            "{program} {name}"
        );
    }
}
