//! The end of a process namespace.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Child;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process::{ProcessStat, pids};

/// Interval at which processes are inspected. The kernel reports their end only once all are reaped.
const STEP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};

/// Longest wait, in steps.
const STEPS: usize = 500;

/// Kills the first process of a process namespace, and with it all others there. Returns once none
/// runs a program: a namespace exists until its processes are reaped, and the parents of those that
/// joined it are outside, where that may take long. Call it with the namespace's `/proc`.
///
/// # Errors
/// Fails if the processes cannot be killed or do not end ([`io::ErrorKind::TimedOut`]).
pub fn end_processes(first: &mut Child) -> io::Result<()> {
    first.kill()?;
    let pidfd = pidfd_open(Pid::from_child(first), PidfdFlags::empty())?;
    for _ in 0..STEPS {
        let mut polled = [PollFd::new(&pidfd, PollFlags::IN)];
        match poll(&mut polled, Some(&STEP)) {
            Ok(1..) => return Ok(()),
            Ok(0) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !pids().into_iter().any(runs_program) {
            return Ok(());
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Whether a thread of a process has not exited yet.
fn runs_program(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let mut threads = threads.into_iter().flatten().flatten();
    threads.any(|thread| is_running(&thread.path()))
}

fn is_running(thread: &Path) -> bool {
    let line = fs::read(thread.join("stat")).unwrap_or_default();
    let stat = ProcessStat::parse(&String::from_utf8_lossy(&line));
    stat.is_some_and(|stat| !stat.has_ended() && !stat.is_exiting)
}
