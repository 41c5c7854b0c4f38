//! Ending processes: politely, then not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::scan::variables_of;
use super::scanner::{Snapshot, snapshot};
use super::stat::{Process, ProcessStat};
use super::surroundings::Surroundings;
use super::table;

/// How long processes usually get between SIGTERM and SIGKILL.
pub const GRACE: Duration = Duration::from_secs(2);

/// How long SIGKILL may take to show before a process counts as left.
const KILL_WAIT: Duration = Duration::from_secs(3);

/// How long to wait for processes that are within `exec`, and how often to look at them.
const EXEC_WAIT: Duration = Duration::from_millis(250);
const EXEC_STEP: Duration = Duration::from_millis(1);

/// Which processes are meant. They are found anew at every look.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// A process group of ours. Its leader must be a child that was not waited for yet, so that the number is still
    /// its own.
    pub group: Option<i32>,
    /// Names and values of variables that mark processes; one of them is enough.
    pub marks: Vec<(String, String)>,
    /// Processes that are known by pid and start time, whatever can be read of them. Of the calling process, only what it
    /// started is meant.
    pub processes: KnownProcesses,
    /// The name of a variable, and the directory that it names. Marked processes in which it names another directory that is there are
    /// spared: a mark is copied with the files that it stands in, and then it is those of the other directory that bear it.
    pub home: Option<(String, PathBuf)>,
}

/// Processes that are found by other means than a mark. They are asked for at every look, after the marks were read: a
/// process that closes itself to inspection in between must already be known by then.
#[derive(Clone, Default)]
pub struct KnownProcesses(Option<Arc<dyn Fn() -> Vec<Process> + Send + Sync>>);

impl KnownProcesses {
    /// Those that `find` returns.
    pub fn found_by(find: impl Fn() -> Vec<Process> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// Those that are known now.
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

/// What became of the processes that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// How many there were.
    pub found: usize,
    /// How many of them SIGTERM did not end in time, so that they were sent SIGKILL.
    pub killed: usize,
    /// How many live on all the same.
    pub left: usize,
}

/// Ends every process marked with `name=value` and what descends from it: SIGTERM, then after `grace` SIGKILL.
/// The calling process itself is spared, and so is a marked process of another user or container that does not
/// descend from one of these or from us.
pub async fn end_marked(name: &str, value: &str, grace: Duration) -> Ended {
    let target = Target {
        marks: vec![(name.to_owned(), value.to_owned())],
        ..Target::default()
    };
    end(target, grace).await
}

/// Ends the processes of a target: SIGTERM, then after `grace` SIGKILL, until two looks in a row find none.
///
/// Once begun, it goes on when the caller stops waiting.
pub async fn end(target: Target, grace: Duration) -> Ended {
    let work = tokio::task::spawn_blocking(move || end_blocking(&target, grace));
    work.await.unwrap_or_else(|error| {
        tracing::error!(%error, "the ending of processes failed");
        Ended::default()
    })
}

/// Waits until a target's processes have ended by themselves; `false` when some still live after `within`.
pub async fn gone_within(target: Target, within: Duration) -> bool {
    let work = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + within;
        let mut seen = BTreeSet::new();
        loop {
            let found = look(&target, &seen);
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

/// As [`end`], on the calling thread.
pub fn end_blocking(target: &Target, grace: Duration) -> Ended {
    let first = look(target, &BTreeSet::new());
    let mut seen: BTreeSet<Process> = first.keys().copied().collect();
    signal(target, &first, Signal::TERM);
    wait_for(&first, Instant::now() + grace);

    let deadline = Instant::now() + KILL_WAIT;
    let mut killed = BTreeSet::new();
    let mut empty_looks = usize::from(first.is_empty());
    let mut left = 0;
    while empty_looks < 2 {
        let found = look(target, &seen);
        left = found.len();
        if found.is_empty() {
            empty_looks += 1;
            continue;
        }
        if Instant::now() >= deadline {
            break;
        }
        empty_looks = 0;
        seen.extend(found.keys().copied());
        killed.extend(found.keys().copied());
        signal(target, &found, Signal::KILL);
        wait_for(&found, deadline);
    }
    Ended {
        found: seen.len(),
        killed: killed.len(),
        left,
    }
}

/// Waits until processes have left `exec`.
fn await_exec(mut within: Vec<Process>) {
    let deadline = Instant::now() + EXEC_WAIT;
    loop {
        within.retain(|process| table::is_within_exec(*process));
        if within.is_empty() || Instant::now() >= deadline {
            return;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the kernel reports no end of exec; it takes some microseconds"
        )]
        std::thread::sleep(EXEC_STEP);
    }
}

/// Sends SIGKILL to the processes of a target without waiting: for places that cannot wait, such as a destructor.
pub fn end_now(target: &Target) {
    let found = look(target, &BTreeSet::new());
    signal(target, &found, Signal::KILL);
}

/// The living processes of a target, each with an open pidfd, looked at again after it was opened. Those that were
/// `seen` still belong to it when the parent by which they were found has ended.
///
/// A look that finds none waits for processes within `exec`, during which their environment cannot be read: a marked one whose
/// parent has ended is found by the next look only.
fn look(target: &Target, seen: &BTreeSet<Process>) -> BTreeMap<Process, OwnedFd> {
    let snapshot = snapshot();
    let found = look_at(&snapshot, target, seen);
    if found.is_empty() && !target.marks.is_empty() {
        await_exec(table::within_exec(&snapshot));
    }
    found
}

fn look_at(
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
    table::family(table, &roots)
        .into_iter()
        .filter(|pid| *pid != own)
        .filter_map(|pid| table.get(&pid))
        .filter_map(|stat| Some((stat.process, open(stat.process)?)))
        .collect()
}

/// The marked processes of a target that live where we live, or descend from us.
fn marked(target: &Target, snapshot: &Snapshot, own: i32) -> Vec<i32> {
    let entries = target.marks.iter();
    let entries: BTreeSet<Vec<u8>> = entries
        .map(|(name, value)| format!("{name}={value}").into_bytes())
        .collect();
    let here = Surroundings::own();
    let is_ours = |pid: i32| here.hold(pid) || descends(&snapshot.table, pid, own);
    let is_at_home = |environ: &[u8]| {
        let home = target.home.as_ref();
        home.is_none_or(|(name, directory)| !names_another(environ, name, directory))
    };
    let environs = snapshot.environs().iter();
    environs
        .filter(|(_, environ)| table::has_any(environ, |have| entries.contains(have)))
        .filter(|(pid, environ)| is_ours(**pid) && is_at_home(environ))
        .map(|(pid, _)| *pid)
        .collect()
}

/// Whether a variable in an environment names a directory that is there and is not this one.
fn names_another(environ: &[u8], variable: &str, directory: &Path) -> bool {
    let identity = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let theirs = variables_of(environ).remove(variable).map(PathBuf::from);
    let theirs = theirs.filter(|path| path.is_absolute());
    match (theirs.and_then(|path| identity(&path)), identity(directory)) {
        (Some(theirs), Some(ours)) => theirs != ours,
        _ => false,
    }
}

/// Whether a process has `ancestor` above it: what we started is ours wherever it went.
fn descends(table: &BTreeMap<i32, ProcessStat>, pid: i32, ancestor: i32) -> bool {
    let parent = |pid: &i32| table.get(pid).map(|stat| stat.parent);
    std::iter::successors(parent(&pid), parent)
        .take(table.len())
        .any(|above| above == ancestor)
}

fn open(process: Process) -> Option<OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
    // The number may have gone to another process between the look and the opening.
    let same = process.is_running();
    same.then_some(pidfd)
}

fn signal(target: &Target, found: &BTreeMap<Process, OwnedFd>, signal: Signal) {
    if let Some(group) = target.group.and_then(Pid::from_raw) {
        report(
            "group",
            group.as_raw_nonzero().get(),
            kill_process_group(group, signal),
        );
    }
    for (process, pidfd) in found {
        report("process", process.pid, pidfd_send_signal(pidfd, signal));
    }
}

fn report(what: &str, pid: i32, result: Result<(), Errno>) {
    match result {
        // It has ended by itself.
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => tracing::warn!(what, pid, %error, "cannot signal"),
    }
}

/// Waits until every process has ended, or the deadline. A pidfd becomes readable when its process ends.
fn wait_for(found: &BTreeMap<Process, OwnedFd>, deadline: Instant) {
    for pidfd in found.values() {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // A time that does not fit is longer than anybody waits.
            let left = Timespec::try_from(left).ok();
            match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], left.as_ref()) {
                Err(Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "cannot wait for a process");
                    break;
                }
            }
        }
    }
}
