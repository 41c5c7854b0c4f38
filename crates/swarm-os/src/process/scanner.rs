//! Scans of `/proc`, shared by concurrent callers.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{fs, io};

use parking_lot::{Condvar, Mutex};

use super::lookup::pids;
use super::stat::ProcessStat;

/// Timeout and polling interval of the wait for processes that are within `exec`.
const EXEC_WAIT: Duration = Duration::from_millis(250);
const EXEC_STEP: Duration = Duration::from_millis(1);

/// The running processes at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) table: BTreeMap<i32, ProcessStat>,
    /// Read on first use.
    environs: OnceLock<BTreeMap<i32, Vec<u8>>>,
}

impl Snapshot {
    fn read() -> Self {
        Self {
            table: all(),
            environs: OnceLock::new(),
        }
    }

    /// Returns the readable environments by pid. Each entry ends with a zero byte. Processes that
    /// are not dumpable are missing.
    pub(super) fn environs(&self) -> &BTreeMap<i32, Vec<u8>> {
        self.environs.get_or_init(|| {
            let deadline = Instant::now() + EXEC_WAIT;
            let all = self.table.values();
            all.filter_map(|stat| Some((stat.process.pid, environ(stat, deadline)?)))
                .collect()
        })
    }
}

/// Reads the environment of a process. `None` if it cannot be read.
fn environ(stat: &ProcessStat, deadline: Instant) -> Option<Vec<u8>> {
    if stat.is_kernel_thread || stat.is_exiting {
        return Some(Vec::new());
    }
    let pid = stat.process.pid;
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}"));
    let is_pending = || {
        let now = ProcessStat::of(pid.cast_unsigned());
        Instant::now() < deadline && now.is_some_and(|now| !now.has_ended() && !now.is_exiting)
    };
    settled_environ(read, is_pending).ok()
}

/// Reads an environment, after the end of `exec`: until then, the kernel shows neither environment
/// nor arguments, so that a marked process would be overlooked. `is_pending` returns whether `exec`
/// may still end.
fn settled_environ(
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
    is_pending: impl Fn() -> bool,
) -> io::Result<Vec<u8>> {
    loop {
        let environ = read("environ")?;
        if !environ.is_empty() {
            return Ok(environ);
        }
        if !read("cmdline")?.is_empty() {
            // Either there is no environment, or `exec` has ended between the two reads.
            return read("environ");
        }
        if !is_pending() {
            return Ok(environ);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the kernel does not report the end of exec, which takes some microseconds"
        )]
        std::thread::sleep(EXEC_STEP);
    }
}

/// Returns a scan of `/proc` that starts after this call. Concurrent callers share one scan, so
/// that terminating many members needs as many scans as terminating one.
pub(super) fn snapshot() -> Arc<Snapshot> {
    static SCANNER: Scanner<Snapshot> = Scanner::new();
    SCANNER.fresh(Snapshot::read)
}

/// Shares the result of a read between waiting callers.
#[derive(Debug)]
struct Scanner<T> {
    state: Mutex<ScanState<T>>,
    finished: Condvar,
}

#[derive(Debug)]
struct ScanState<T> {
    /// Number of reads that have started.
    begun: u64,
    is_reading: bool,
    waiting: usize,
    /// The last read and its number, kept while a caller waits that may use it.
    latest: Option<(u64, Arc<T>)>,
}

impl<T> Scanner<T> {
    const fn new() -> Self {
        Self {
            state: Mutex::new(ScanState {
                begun: 0,
                is_reading: false,
                waiting: 0,
                latest: None,
            }),
            finished: Condvar::new(),
        }
    }

    /// Returns the result of a read that starts after this call, either by this caller or by
    /// another one. `read` must not panic.
    fn fresh(&self, read: impl FnOnce() -> T) -> Arc<T> {
        let mut state = self.state.lock();
        let wanted = state.begun + 1;
        state.waiting += 1;
        let number = loop {
            let latest = state.latest.as_ref();
            if let Some((_, shared)) = latest.filter(|(number, _)| *number >= wanted) {
                let shared = Arc::clone(shared);
                state.waiting -= 1;
                if state.waiting == 0 {
                    state.latest = None;
                }
                return shared;
            }
            if !state.is_reading {
                state.waiting -= 1;
                state.is_reading = true;
                state.begun += 1;
                break state.begun;
            }
            self.finished.wait(&mut state);
        };
        drop(state);
        let result = Arc::new(read());
        let mut state = self.state.lock();
        state.is_reading = false;
        state.latest = (state.waiting > 0).then(|| (number, Arc::clone(&result)));
        self.finished.notify_all();
        result
    }
}

/// Returns all running processes by pid, without zombies.
pub(super) fn all() -> BTreeMap<i32, ProcessStat> {
    pids()
        .into_iter()
        .filter_map(ProcessStat::of)
        .filter(|stat| !stat.has_ended())
        .map(|stat| (stat.process.pid, stat))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn an_environment_is_read_after_the_end_of_exec() {
        let read_in_turn = |answers: &[&str], is_pending: bool| {
            let mut answers = answers.iter().map(|text| Ok(text.as_bytes().to_vec()));
            let answers = Mutex::new(&mut answers);
            settled_environ(|_| answers.lock().next().unwrap(), || is_pending).unwrap()
        };
        // Environment, arguments, and both again.
        assert_eq!(read_in_turn(&["", "", "A=b"], true), b"A=b");
        assert_eq!(read_in_turn(&["", "sleep", "A=b"], true), b"A=b");
        assert_eq!(read_in_turn(&["", "sleep", ""], true), b"");
        assert_eq!(read_in_turn(&["", ""], false), b"");
    }

    #[test]
    fn waiting_callers_share_one_scan_that_starts_after_their_calls() {
        const CALLERS: usize = 64;
        let scanner = Scanner::new();
        let scans = AtomicUsize::new(0);
        let fresh = |before: &dyn Fn()| {
            *scanner.fresh(|| {
                before();
                scans.fetch_add(1, Ordering::SeqCst) + 1
            })
        };
        thread::scope(|scope| {
            let (fresh, waiting) = (&fresh, || scanner.state.lock().waiting);
            let begun = || scanner.state.lock().begun;
            // The first scan finishes once all others wait, so none of them may use its result.
            let first = scope.spawn(move || fresh(&|| while waiting() < CALLERS {}));
            while begun() == 0 {}
            let others: Vec<_> = (0..CALLERS)
                .map(|_| scope.spawn(move || fresh(&|| {})))
                .collect();
            assert_eq!(first.join().unwrap(), 1);
            for other in others {
                assert_eq!(other.join().unwrap(), 2);
            }
        });
        assert_eq!(scans.load(Ordering::SeqCst), 2);
        assert!(
            scanner.state.lock().latest.is_none(),
            "environments are not kept"
        );
    }
}
