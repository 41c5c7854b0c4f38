//! Processes by pid and start time, so that a pid that was given to another process is not mistaken for ours.

use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One process, for as long as the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    /// Its pid.
    pub(crate) pid: u32,
    /// When it started, in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    pub(crate) start: u64,
}

impl Process {
    /// The process that has this pid at present; none when there is none or it waits to be reaped.
    pub(crate) fn running(pid: u32) -> Option<Self> {
        Self::with_parent(pid).map(|(process, _)| process)
    }

    /// The same, if it is a child of `parent`. A pid that a dead child had is soon another process's, but hardly
    /// another child's.
    pub(crate) fn running_child(pid: u32, parent: u32) -> Option<Self> {
        let found = Self::with_parent(pid).filter(|(_, found)| *found == parent);
        found.map(|(process, _)| process)
    }

    fn with_parent(pid: u32) -> Option<(Self, u32)> {
        let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in parentheses and may hold anything, parentheses too.
        let (_, rest) = line.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let start = fields.nth(17)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some((Self { pid, start }, parent))
    }

    /// Whether it still runs.
    pub(crate) fn is_running(self) -> bool {
        Self::running(self.pid) == Some(self)
    }

    /// Resolves when the process has ended; the kernel wakes us.
    ///
    /// # Errors
    /// When the system has no pidfd or no descriptors left.
    pub(crate) async fn ended(self) -> io::Result<()> {
        let Some(pid) = self.raw_pid() else {
            return Ok(());
        };
        let descriptor = match pidfd_open(pid, PidfdFlags::NONBLOCK) {
            Ok(descriptor) => descriptor,
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if !self.is_running() {
            return Ok(());
        }
        #[expect(
            deprecated,
            reason = "its successor is unsafe; what that asks for holds here, an OwnedFd stays open inside"
        )]
        let watched = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
        watched.readable().await.map(drop)
    }

    /// Signals the process and its group, of which it must be the leader.
    pub(crate) fn signal_group(self, signal: Signal) {
        if let (true, Some(pid)) = (self.is_running(), self.raw_pid())
            && let Err(error) = kill_process_group(pid, signal)
        {
            tracing::debug!(pid = self.pid, ?signal, %error, "process group not signalled");
        }
    }

    fn raw_pid(self) -> Option<Pid> {
        i32::try_from(self.pid).ok().and_then(Pid::from_raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_with_another_start_time_is_another_process() {
        let own = Process::running(std::process::id()).unwrap();
        assert!(own.is_running());
        let other = Process {
            start: own.start + 1,
            ..own
        };
        assert!(!other.is_running());
    }

    #[test]
    fn a_child_is_known_by_its_parent() {
        let own = std::process::id();
        let parent = std::os::unix::process::parent_id();
        assert!(Process::running_child(own, parent).is_some());
        assert_eq!(Process::running_child(own, own), None);
    }

    #[tokio::test]
    async fn the_end_of_a_process_wakes_its_watcher() {
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = Process::running(child.id()).unwrap();
        let early = tokio::time::timeout(std::time::Duration::from_millis(50), process.ended());
        assert!(early.await.is_err(), "it still runs");
        let watcher = tokio::spawn(process.ended());
        drop(child.stdin.take());
        watcher.await.unwrap().unwrap();
        child.wait().unwrap();
        assert!(!process.is_running());
        process.ended().await.unwrap();
    }
}
