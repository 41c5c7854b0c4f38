//! Reaping of orphans. The processes that a child leaves behind become children of this process if
//! it is a subreaper, and remain zombies until this process waits for them.

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, test_kill_process_group, waitpgid, waitpid};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

use super::stat::{Process, ProcessStat};

/// What a child leaves behind.
#[derive(Debug)]
pub(super) struct Orphans {
    /// The process group of the child. Its number is the pid of the child.
    group: Option<Pid>,
    /// Processes that may have left the group.
    processes: Vec<Process>,
}

impl Orphans {
    /// The child itself is not reaped: its owner waits for it.
    pub(super) fn new(group: Option<i32>, processes: impl IntoIterator<Item = Process>) -> Self {
        let others = processes.into_iter();
        Self::with_leader(group, others.filter(|process| Some(process.pid) != group))
    }

    /// Every one of `processes` is reaped, also the leader of the group.
    pub(super) fn with_leader(
        group: Option<i32>,
        processes: impl IntoIterator<Item = Process>,
    ) -> Self {
        Self {
            group: group.and_then(Pid::from_raw),
            processes: processes.into_iter().collect(),
        }
    }

    /// Reaps them: those that have exited now, and the others when they exit, in a task of the
    /// current runtime.
    pub(super) fn reap(mut self) {
        if self.reap_exited() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            // Opened before the check, so that no exit is missed.
            let mut exits = match signal(SignalKind::child()) {
                Ok(exits) => exits,
                Err(error) => {
                    tracing::warn!(%error, "orphaned processes remain zombies");
                    return;
                }
            };
            while !self.reap_exited() && exits.recv().await.is_some() {}
        });
    }

    /// Reaps those that have exited. Returns whether none remains.
    fn reap_exited(&mut self) -> bool {
        self.processes.retain(|process| !is_gone(*process));
        self.group = self.group.filter(|group| !is_empty(*group));
        self.group.is_none() && self.processes.is_empty()
    }
}

/// Reaps what an exited child left in its process group, now or when it exits. A process that
/// leaves the group (`setsid`) is not reaped.
pub fn reap_group(group: Option<i32>) {
    Orphans::new(group, []).reap();
}

/// Reaps a process if it has exited. Returns whether it is gone.
fn is_gone(process: Process) -> bool {
    let stat = ProcessStat::of(process.id()).filter(|stat| stat.process == process);
    let (Some(stat), Some(pid)) = (stat, Pid::from_raw(process.pid)) else {
        return true;
    };
    stat.has_ended() && matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)))
}

/// Reaps the exited processes of a group. Returns whether the group is gone.
fn is_empty(group: Pid) -> bool {
    // As long as a group exists, its number is not reused. So a process with this pid is the child
    // that its owner has not waited for yet, or the group is gone and another child may lead a new
    // one.
    if ProcessStat::of(group.as_raw_nonzero().get().cast_unsigned()).is_some() {
        return false;
    }
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
    test_kill_process_group(group) == Err(Errno::SRCH)
}
