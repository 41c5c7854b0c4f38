//! Terminates processes: SIGTERM, then SIGKILL after a grace period.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_send_signal};

use super::lookup::{Surroundings, arguments, is_in_inner_namespace};
use super::orphans::Orphans;
use super::scan::variables_of;
use super::scanner::{Snapshot, snapshot};
use super::stat::{Process, ProcessStat};
use super::table;
use crate::contained::identity;

/// Default time between SIGTERM and SIGKILL.
pub const GRACE: Duration = Duration::from_secs(2);

/// Time for a process that cleans up after others, once those have been killed.
const CLEANUP: Duration = Duration::from_secs(1);

/// Time after SIGKILL after which a process that still runs counts as remaining.
const KILL_WAIT: Duration = Duration::from_secs(3);

/// Interval at which a wait looks for namespaces that are closing.
const NAMESPACE_STEP: Duration = Duration::from_millis(50);

/// Selects processes. Evaluated again at every scan of the process table.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// A process group of this process. Its leader must be a child that was not waited for yet, so
    /// that the number has not been reused.
    pub group: Option<i32>,
    /// Names and values of environment variables that mark processes; one match is enough.
    pub marks: Vec<(String, String)>,
    /// Processes known by pid and start time, even if their environment cannot be read. The calling
    /// process stands for its descendants only.
    pub processes: KnownProcesses,
    /// Processes that are not terminated themselves if they are selected, unlike their descendants.
    pub spared: KnownProcesses,
    /// Spares marked processes with another identity: a mark is copied together with the files that
    /// contain it, and then also marks processes of the copy.
    pub identity: Option<Identity>,
    /// First argument of programs that clean up after SIGTERM, once the others have exited. They get
    /// [`CLEANUP`] for it, however short the grace period is.
    pub cleans_up: Option<&'static str>,
}

/// Tells processes that were started for the same directory from those of its copies: a variable in
/// their environment names the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    variable: String,
    directory: PathBuf,
}

impl Identity {
    /// The identity of processes in which `variable` names `directory`.
    pub fn new(variable: &str, directory: impl Into<PathBuf>) -> Self {
        Self {
            variable: variable.to_owned(),
            directory: directory.into(),
        }
    }

    /// Returns whether the variable in an environment names another existing directory.
    fn differs(&self, environ: &[u8]) -> bool {
        let inode = |path: &Path| std::fs::metadata(path).ok().as_ref().map(identity);
        let theirs = variables_of(environ)
            .remove(&self.variable)
            .map(PathBuf::from);
        let theirs = theirs.filter(|path| path.is_absolute());
        match (theirs.and_then(|path| inode(&path)), inode(&self.directory)) {
            (Some(theirs), Some(ours)) => theirs != ours,
            _ => false,
        }
    }
}

/// Processes that are found by other means than a mark. Evaluated at every scan, after the marks
/// were read: a process that becomes non-dumpable in between must already be recorded by then.
#[derive(Clone, Default)]
pub struct KnownProcesses(Option<Arc<dyn Fn() -> Vec<Process> + Send + Sync>>);

impl KnownProcesses {
    /// The processes that `find` returns.
    pub fn found_by(find: impl Fn() -> Vec<Process> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// Returns the processes that are known at present.
    pub fn now(&self) -> Vec<Process> {
        self.0.as_ref().map_or_else(Vec::new, |find| find())
    }
}

impl From<Process> for KnownProcesses {
    fn from(process: Process) -> Self {
        Self::found_by(move || vec![process])
    }
}

impl fmt::Debug for KnownProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.now()).finish()
    }
}

/// The result of terminating processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// Number of processes found.
    pub found: usize,
    /// Number of processes that did not exit in time after SIGTERM and were sent SIGKILL.
    pub killed: usize,
    /// Number of processes that are still running.
    pub left: usize,
}

impl Target {
    fn cleans_up(&self, process: Process) -> bool {
        let Some(argument) = self.cleans_up else {
            return false;
        };
        let words = arguments(process.pid.cast_unsigned()).unwrap_or_default();
        words.split(|byte| *byte == 0).nth(1) == Some(argument.as_bytes())
    }
}

/// Terminates every process marked with `name=value` and its descendants: SIGTERM, and SIGKILL
/// after `grace`. Spares the calling process, and marked processes of another user or container
/// that descend neither from the calling process nor from a marked process of its own user and
/// container.
pub async fn end_marked(name: &str, value: &str, grace: Duration) -> Ended {
    let target = Target {
        marks: vec![(name.to_owned(), value.to_owned())],
        ..Target::default()
    };
    end(target, grace).await
}

/// Terminates the processes of a target: SIGTERM, and SIGKILL after `grace`, until two scans in a
/// row find none. Continues when the future is dropped.
pub async fn end(target: Target, grace: Duration) -> Ended {
    end_found(target, grace).await.0
}

/// Like [`end`], for a child with its descendants. `reaped` waits for the child. It is awaited
/// after they have exited, so that the child's PID is not reused in the meantime. Then its orphans
/// are reaped, which become children of this process if it is a subreaper: a PID namespace exists
/// until its processes are reaped.
pub async fn end_child<T>(
    reaped: impl Future<Output = io::Result<T>>,
    target: Target,
    grace: Duration,
) -> Ended {
    let group = target.group;
    let (ended, found) = end_found(target, grace).await;
    if ended.left > 0 {
        return ended;
    }
    if let Err(error) = reaped.await {
        tracing::warn!(%error, "could not wait for a terminated process");
    }
    Orphans::new(group, found).reap();
    ended
}

/// Like [`end`]. Also returns the processes that were found.
async fn end_found(target: Target, grace: Duration) -> (Ended, BTreeSet<Process>) {
    let work = tokio::task::spawn_blocking(move || end_all(&target, grace));
    work.await.unwrap_or_else(|error| {
        tracing::error!(%error, "terminating processes failed");
        (Ended::default(), BTreeSet::new())
    })
}

/// Waits until all processes of a target have exited by themselves. Returns `false` if some are
/// still running after `within`.
pub async fn exited_within(target: Target, within: Duration) -> bool {
    let work = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + within;
        let mut seen = BTreeSet::new();
        loop {
            let found = find_running(&target, &seen);
            if found.is_empty() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            seen.extend(found.keys().copied());
            wait_for(&found, deadline);
        }
    });
    work.await.unwrap_or_default()
}

/// Like [`end`], but blocks the calling thread.
pub fn end_blocking(target: &Target, grace: Duration) -> Ended {
    end_all(target, grace).0
}

/// Terminates the processes of a target. Returns those that were found.
fn end_all(target: &Target, grace: Duration) -> (Ended, BTreeSet<Process>) {
    let first = find_running(target, &BTreeSet::new());
    let mut seen: BTreeSet<Process> = first.keys().copied().collect();
    signal(target, &first, Signal::TERM);
    wait_for(&first, Instant::now() + grace);

    let clean_until = Instant::now() + CLEANUP;
    let mut deadline = Instant::now() + KILL_WAIT;
    let mut killed = BTreeSet::new();
    let mut empty_scans = usize::from(seen.is_empty());
    let mut left = 0;
    while empty_scans < 2 {
        let mut found = find_running(target, &seen);
        left = found.len();
        if found.is_empty() {
            empty_scans += 1;
            continue;
        }
        if Instant::now() >= deadline {
            break;
        }
        empty_scans = 0;
        seen.extend(found.keys().copied());
        if Instant::now() < clean_until {
            let (cleaning, others) = split_cleaning(target, found);
            if !cleaning.is_empty() {
                killed.extend(others.keys().copied());
                signal_each(&others, Signal::KILL);
                wait_for(&cleaning, clean_until);
                deadline = Instant::now() + KILL_WAIT;
                continue;
            }
            found = others;
        }
        killed.extend(found.keys().copied());
        signal(target, &found, Signal::KILL);
        wait_for(&found, deadline);
    }
    let ended = Ended {
        found: seen.len(),
        killed: killed.len(),
        left,
    };
    (ended, seen)
}

/// Separates the processes that clean up after others from those others.
fn split_cleaning(
    target: &Target,
    found: BTreeMap<Process, OwnedFd>,
) -> (BTreeMap<Process, OwnedFd>, BTreeMap<Process, OwnedFd>) {
    found
        .into_iter()
        .partition(|(process, _)| target.cleans_up(*process))
}

/// Sends SIGKILL to the processes of a target without waiting, for callers that cannot wait, such
/// as destructors. The leader of the group is left to its owner; the others are reaped when they
/// have become children of this process.
pub fn kill_now(target: &Target) {
    let found = find_running(target, &BTreeSet::new());
    signal(target, &found, Signal::KILL);
    Orphans::new(target.group, found.into_keys()).reap();
}

/// Like [`kill_now`], for a group whose leader is a child of another process: if that ends, the
/// leader becomes a child of this process, and is reaped as well.
pub fn kill_now_with_leader(target: &Target) {
    let found = find_running(target, &BTreeSet::new());
    signal(target, &found, Signal::KILL);
    // It may have exited before.
    let leader = target.group.map(i32::cast_unsigned);
    let leader = leader.and_then(ProcessStat::of).map(|stat| stat.process);
    let processes = found.into_keys().chain(leader);
    Orphans::with_leader(target.group, processes).reap();
}

/// Scans for the running processes of a target. Returns each with a pidfd, checked again after it
/// was opened. Processes that were `seen` before still belong to the target when the parent through
/// which they were found has exited.
fn find_running(target: &Target, seen: &BTreeSet<Process>) -> BTreeMap<Process, OwnedFd> {
    select(&snapshot(), target, seen)
}

fn select(
    snapshot: &Snapshot,
    target: &Target,
    seen: &BTreeSet<Process>,
) -> BTreeMap<Process, OwnedFd> {
    let table = &snapshot.table;
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut roots = BTreeSet::new();
    if !target.marks.is_empty() {
        roots.extend(marked(target, snapshot, own));
    }
    let known = target.processes.now();
    let known = known
        .iter()
        .chain(seen)
        .filter(|process| {
            table
                .get(&process.pid)
                .is_some_and(|stat| stat.process == **process)
        })
        .map(|process| process.pid);
    roots.extend(known);
    if let Some(group) = target.group {
        roots.extend(
            table
                .values()
                .filter(|stat| stat.group == group)
                .map(|stat| stat.process.pid),
        );
        roots.insert(group);
    }
    let spared = target.spared.now();
    table::family(table, &roots)
        .into_iter()
        .filter(|pid| *pid != own)
        .filter_map(|pid| table.get(&pid))
        .filter(|stat| !spared.contains(&stat.process))
        .filter(|stat| !is_closing_namespace(stat))
        .filter_map(|stat| {
            let pidfd = stat.process.pidfd(PidfdFlags::empty()).ok()??;
            Some((stat.process, pidfd))
        })
        .collect()
}

/// Returns the marked processes that have the user and namespaces of this process or descend from
/// it.
fn marked(target: &Target, snapshot: &Snapshot, own: i32) -> Vec<i32> {
    let entries = target.marks.iter();
    let entries: BTreeSet<Vec<u8>> = entries
        .map(|(name, value)| format!("{name}={value}").into_bytes())
        .collect();
    let own_surroundings = Surroundings::own();
    // Descendants belong to this process whatever their namespaces are.
    let descends = |pid: i32| table::ancestors(&snapshot.table, pid).any(|above| above == own);
    let is_ours = |pid: i32| own_surroundings.hold(pid) || descends(pid);
    let is_other = |environ: &[u8]| {
        let identity = target.identity.as_ref();
        identity.is_some_and(|identity| identity.differs(environ))
    };
    let environs = snapshot.environs().iter();
    environs
        .filter(|(_, environ)| table::has_any(environ, |have| entries.contains(have)))
        .filter(|(pid, environ)| is_ours(**pid) && !is_other(environ))
        .map(|(pid, _)| *pid)
        .collect()
}

fn signal(target: &Target, found: &BTreeMap<Process, OwnedFd>, signal: Signal) {
    if let Some(group) = target.group.and_then(Pid::from_raw) {
        report(
            "group",
            group.as_raw_nonzero().get(),
            kill_process_group(group, signal),
        );
    }
    signal_each(found, signal);
}

fn signal_each(found: &BTreeMap<Process, OwnedFd>, signal: Signal) {
    for (process, pidfd) in found {
        report("process", process.pid, pidfd_send_signal(pidfd, signal));
    }
}

fn report(what: &str, pid: i32, result: Result<(), Errno>) {
    match result {
        // It has already exited.
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => tracing::warn!(what, pid, %error, "could not send a signal"),
    }
}

/// Waits until every process has exited, or until the deadline. A pidfd becomes readable when its
/// process exits.
fn wait_for(found: &BTreeMap<Process, OwnedFd>, deadline: Instant) {
    let mut running: Vec<(Process, &OwnedFd)> =
        found.iter().map(|(process, fd)| (*process, fd)).collect();
    while !running.is_empty() && Instant::now() < deadline {
        let remaining = deadline.saturating_duration_since(Instant::now());
        // The kernel does not report the end of a namespace.
        let timeout = Timespec::try_from(remaining.min(NAMESPACE_STEP)).ok();
        let polled = running
            .iter()
            .map(|(_, pidfd)| PollFd::new(*pidfd, PollFlags::IN));
        let mut polled: Vec<PollFd<'_>> = polled.collect();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => {
                tracing::warn!(%error, "could not wait for processes");
                return;
            }
        }
        let exited: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        let mut exited = exited.into_iter();
        running.retain(|(process, _)| {
            let stat = ProcessStat::of(process.pid.cast_unsigned());
            !exited.next().unwrap_or_default()
                && !stat.is_some_and(|stat| is_closing_namespace(&stat))
        });
    }
}

/// Whether this is the first process of a pid namespace, and only waits until its parent reaps the
/// others. Their parents may have been outside and may have ended, so that this takes as long as
/// the init process takes.
fn is_closing_namespace(stat: &ProcessStat) -> bool {
    stat.is_exiting && is_in_inner_namespace(stat.process.pid)
}
