//! `/proc/PID/stat`, and processes identified by pid and start time.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Identifies a process until the next reboot: the start time distinguishes it from later processes
/// with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Process {
    /// The pid.
    pub pid: i32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

/// `PF_KTHREAD` of the kernel's `sched.h`, in the field `flags`.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// `PF_EXITING` of the same file.
const EXITING: u32 = 0x4;

/// Upper bound of the line length in bytes: the name and 52 numbers of at most 20 digits.
const LONGEST_LINE: usize = 2048;

/// Number of fields after the name that are parsed: all up to the start time.
const FIELDS: usize = 20;

/// Fields of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// Pid and start time.
    pub process: Process,
    /// Letter of the state, such as `S`.
    pub state: char,
    /// Pid of the parent.
    pub parent: i32,
    /// Process group.
    pub group: i32,
    /// Session.
    pub session: i32,
    /// Whether it is a kernel thread, which has no program.
    pub is_kernel_thread: bool,
    /// Whether it is exiting and runs no program any more.
    pub is_exiting: bool,
}

impl ProcessStat {
    /// Reads the line of the process with this pid. Returns `None` if there is no such process or
    /// no `/proc`.
    pub fn of(pid: u32) -> Option<Self> {
        let mut line = [0; LONGEST_LINE];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        // The kernel writes the complete line into a sufficiently large buffer.
        let read = file.read(&mut line).ok()?;
        match str::from_utf8(&line[..read]) {
            Ok(line) => Self::parse(line),
            // The name may be in another encoding.
            Err(_) => Self::parse(&String::from_utf8_lossy(&line[..read])),
        }
    }

    /// Parses a line in the format of `proc_pid_stat(5)`. The program name is in parentheses and
    /// may contain any character, so fields are counted from the last parenthesis.
    pub fn parse(line: &str) -> Option<Self> {
        let (head, rest) = line.rsplit_once(')')?;
        let mut fields = [""; FIELDS];
        let found = rest.split_ascii_whitespace();
        for (field, found) in fields.iter_mut().zip(found) {
            *field = found;
        }
        let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
        let flags = fields.get(6)?.parse::<u32>().ok()?;
        Some(Self {
            process: Process {
                pid: head.split_once(' ')?.0.parse().ok()?,
                start: fields.get(19)?.parse().ok()?,
            },
            state: fields.first()?.chars().next()?,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            is_kernel_thread: flags & KERNEL_THREAD != 0,
            is_exiting: flags & EXITING != 0,
        })
    }

    /// Returns whether the process has exited and was not reaped by its parent yet.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Returns whether the process was stopped by a signal (SIGSTOP, Ctrl-Z).
    pub fn is_stopped(&self) -> bool {
        self.state == 'T'
    }
}

impl Process {
    /// Returns the process that has this pid at present, or `None` if there is none or it has
    /// exited.
    pub fn running(pid: u32) -> Option<Self> {
        let stat = ProcessStat::of(pid)?;
        (!stat.has_ended()).then_some(stat.process)
    }

    /// Like [`Process::running`], if the process is a child of `parent`. A reused pid rarely
    /// belongs to another child of the same parent.
    pub fn running_child(pid: u32, parent: u32) -> Option<Self> {
        let stat = ProcessStat::of(pid).filter(|stat| !stat.has_ended())?;
        (stat.parent.cast_unsigned() == parent).then_some(stat.process)
    }

    /// Returns the pid in the type of the standard library.
    pub fn id(self) -> u32 {
        self.pid.cast_unsigned()
    }

    /// Returns whether the process is still running.
    pub fn is_running(self) -> bool {
        Self::running(self.id()) == Some(self)
    }

    /// Returns the time since its start, or `None` if the uptime is unknown.
    pub fn age(self) -> Option<Duration> {
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
        let second = rustix::param::clock_ticks_per_second().max(1);
        let began = Duration::from_millis(self.start.saturating_mul(1000) / second);
        Duration::try_from_secs_f64(uptime).ok()?.checked_sub(began)
    }

    /// Returns a pidfd of the process, or `None` if it is not running. The descriptor refers to the
    /// process that is checked after it was opened, even if the pid is reused.
    pub(super) fn pidfd(self, flags: PidfdFlags) -> io::Result<Option<OwnedFd>> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(None);
        };
        match pidfd_open(pid, flags) {
            Err(Errno::SRCH) => Ok(None),
            opened => Ok(Some(opened?).filter(|_| self.is_running())),
        }
    }

    /// Resolves when the process has exited. Does not poll.
    ///
    /// # Errors
    /// If pidfds are not supported or no descriptor is free.
    pub async fn ended(self) -> io::Result<()> {
        let Some(descriptor) = self.pidfd(PidfdFlags::NONBLOCK)? else {
            return Ok(());
        };
        #[expect(
            deprecated,
            reason = "the replacement is unsafe; its requirement is met, because the OwnedFd stays open"
        )]
        let watched = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
        watched.readable().await.map(drop)
    }

    /// Signals the process. Returns whether it was still running.
    ///
    /// # Errors
    /// If the process belongs to another user, or pidfds are not supported.
    pub fn signal(self, signal: Signal) -> io::Result<bool> {
        let Some(descriptor) = self.pidfd(PidfdFlags::empty())? else {
            return Ok(false);
        };
        match pidfd_send_signal(&descriptor, signal) {
            Err(Errno::SRCH) => Ok(false),
            sent => Ok(sent.map(|()| true)?),
        }
    }

    /// Terminates the group that the process leads: SIGTERM, and SIGKILL after `grace`. Returns
    /// `false` if the leader is still running another `grace` later.
    ///
    /// # Errors
    /// As [`Process::ended`].
    pub async fn end_group(self, grace: Duration) -> io::Result<bool> {
        for signal in [Signal::TERM, Signal::KILL] {
            self.signal_group(signal);
            if let Ok(ended) = tokio::time::timeout(grace, self.ended()).await {
                return ended.map(|()| true);
            }
        }
        Ok(false)
    }

    /// Signals the process and its group, of which it must be the leader.
    pub fn signal_group(self, signal: Signal) {
        if let (true, Some(pid)) = (self.is_running(), Pid::from_raw(self.pid))
            && let Err(error) = kill_process_group(pid, signal)
        {
            tracing::debug!(pid = self.pid, ?signal, %error, "could not signal a process group");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_program_names_with_parentheses_and_spaces() {
        let line = "42 (a) b (c)) S 1 42 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1";
        let process = Process {
            pid: 42,
            start: 777,
        };
        let wanted = ProcessStat {
            process,
            state: 'S',
            parent: 1,
            group: 42,
            session: 40,
            is_kernel_thread: false,
            is_exiting: false,
        };
        assert_eq!(ProcessStat::parse(line), Some(wanted));
        assert_eq!(ProcessStat::parse("42 (a Z"), None);
        let line = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0";
        assert!(ProcessStat::parse(line).unwrap().is_kernel_thread);
    }

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
    fn a_child_is_recognized_by_its_parent() {
        let own = std::process::id();
        let parent = std::os::unix::process::parent_id();
        assert!(Process::running_child(own, parent).is_some());
        assert_eq!(Process::running_child(own, own), None);
    }

    #[tokio::test]
    async fn the_exit_of_a_process_wakes_its_watcher() {
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = Process::running(child.id()).unwrap();
        let early = tokio::time::timeout(std::time::Duration::from_millis(50), process.ended());
        assert!(early.await.is_err(), "it is still running");
        let watcher = tokio::spawn(process.ended());
        drop(child.stdin.take());
        watcher.await.unwrap().unwrap();
        child.wait().unwrap();
        assert!(!process.is_running());
        process.ended().await.unwrap();
    }
}
