//! Processes of a test world, identified by its directory in their environment. The mark is
//! inherited, so it finds grandchildren that have left their process group and their parent.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::wait::wait_until;

/// Timeout for a killed process to disappear.
const GONE: Duration = Duration::from_secs(10);

/// A process with the mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) pid: i32,
    /// Command line, for messages.
    pub(crate) command: String,
}

/// Returns every running process whose environment contains the directory's path.
pub(crate) fn marked(directory: &Path) -> Vec<Marked> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| carries(*pid, directory))
        .map(|pid| Marked {
            pid,
            command: command(pid),
        })
        .collect()
}

fn carries(pid: i32, directory: &Path) -> bool {
    // Processes of other users, exited processes and zombies have no readable environment.
    let read = || std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut environment = read();
    if environment.is_empty() {
        // Nor has a process during `exec`, for some microseconds.
        std::thread::yield_now();
        environment = read();
    }
    let mark = directory.as_os_str().as_encoded_bytes();
    environment
        .windows(mark.len())
        .enumerate()
        .any(|(at, window)| window == mark && is_whole(environment.get(at + mark.len())))
}

/// Returns whether the mark ends here: `/tmp/sw.12` is not in `/tmp/sw.123`.
fn is_whole(next: Option<&u8>) -> bool {
    next.is_none_or(|next| !next.is_ascii_alphanumeric())
}

fn command(pid: i32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Kills every process of a world, repeatedly because processes may fork meanwhile.
///
/// # Panics
/// If processes remain after many rounds.
pub(crate) fn end_all(directory: &Path) {
    let outcome = wait_until("no process of the world is left", GONE, || {
        let left = marked(directory);
        for process in &left {
            kill(process.pid, directory);
        }
        left.is_empty().then_some(())
    });
    assert!(
        outcome.is_ok(),
        "these processes could not be killed: {:?}",
        marked(directory)
    );
}

/// Kills the process found under this pid, but not another one that has reused the pid.
fn kill(pid: i32, directory: &Path) {
    let Some(pid_of) = Pid::from_raw(pid) else {
        return;
    };
    let Ok(handle) = pidfd_open(pid_of, PidfdFlags::empty()) else {
        return;
    };
    if carries(pid, directory) {
        // It may have exited since.
        pidfd_send_signal(&handle, Signal::KILL).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_marked_processes_are_found_and_killed() {
        let directory = tempfile::tempdir().unwrap();
        let sleeper = |mark: &Path| {
            Command::new("sleep")
                .arg("600")
                .env_clear()
                .env("HOME", mark.join("home"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut ours = sleeper(directory.path());
        let mut longer = directory.path().as_os_str().to_owned();
        longer.push("x");
        let mut theirs = sleeper(Path::new(&longer));
        // Between fork and exec a child has its parent's environment.
        let found = wait_until("the mark", GONE, || {
            let found = marked(directory.path());
            (!found.is_empty()).then_some(found)
        })
        .unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].command.trim(), "sleep 600");
        end_all(directory.path());
        assert!(!ours.wait().unwrap().success());
        assert_eq!(theirs.try_wait().unwrap(), None);
        theirs.kill().unwrap();
        theirs.wait().unwrap();
    }
}
