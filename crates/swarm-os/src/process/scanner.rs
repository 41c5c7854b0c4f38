//! One look at `/proc` for everybody who asks at the same time.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex};

use super::lookup::pids;
use super::stat::ProcessStat;

/// The living processes at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) table: BTreeMap<i32, ProcessStat>,
    /// Read when the first caller asks for one.
    environs: OnceLock<BTreeMap<i32, Vec<u8>>>,
}

impl Snapshot {
    fn read() -> Self {
        Self {
            table: all(),
            environs: OnceLock::new(),
        }
    }

    /// The processes whose environment can be read, with its entries, each ended by a zero byte. A process that closed
    /// itself to inspection is not among them.
    pub(super) fn environs(&self) -> &BTreeMap<i32, Vec<u8>> {
        self.environs.get_or_init(|| {
            let environ = |pid: &i32| fs::read(format!("/proc/{pid}/environ")).ok();
            let pids = self.table.keys();
            pids.filter_map(|pid| Some((*pid, environ(pid)?))).collect()
        })
    }
}

/// The processes as they are now: a scan of `/proc` that begins after this call. Callers on several threads that wait at
/// the same time share one scan, so ending many members costs as many scans as ending one.
pub(super) fn snapshot() -> Arc<Snapshot> {
    static SCANNER: Scanner<Snapshot> = Scanner::new();
    SCANNER.fresh(Snapshot::read)
}

/// Reads something for all callers that wait for it.
#[derive(Debug)]
struct Scanner<T> {
    turns: Mutex<Turns<T>>,
    ended: Condvar,
}

#[derive(Debug)]
struct Turns<T> {
    /// How many reads have begun.
    begun: u64,
    is_reading: bool,
    waiting: usize,
    /// The last read and its number, while somebody waits who may take it.
    latest: Option<(u64, Arc<T>)>,
}

impl<T> Scanner<T> {
    const fn new() -> Self {
        Self {
            turns: Mutex::new(Turns {
                begun: 0,
                is_reading: false,
                waiting: 0,
                latest: None,
            }),
            ended: Condvar::new(),
        }
    }

    /// The result of a read that begins after this call: our own, or that of another caller. `read` must not panic.
    fn fresh(&self, read: impl FnOnce() -> T) -> Arc<T> {
        let mut turns = self.turns.lock();
        let wanted = turns.begun + 1;
        turns.waiting += 1;
        let number = loop {
            let latest = turns.latest.as_ref();
            if let Some((_, shared)) = latest.filter(|(number, _)| *number >= wanted) {
                let shared = Arc::clone(shared);
                turns.waiting -= 1;
                if turns.waiting == 0 {
                    turns.latest = None;
                }
                return shared;
            }
            if !turns.is_reading {
                turns.waiting -= 1;
                turns.is_reading = true;
                turns.begun += 1;
                break turns.begun;
            }
            self.ended.wait(&mut turns);
        };
        drop(turns);
        let result = Arc::new(read());
        let mut turns = self.turns.lock();
        turns.is_reading = false;
        turns.latest = (turns.waiting > 0).then(|| (number, Arc::clone(&result)));
        self.ended.notify_all();
        result
    }
}

/// Every living process by its number. Those that have ended and wait to be reaped are left out.
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
    fn all_who_wait_share_one_scan_that_begins_after_they_asked() {
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
            let (fresh, waiting) = (&fresh, || scanner.turns.lock().waiting);
            let begun = || scanner.turns.lock().begun;
            // The first scan ends only once everybody else waits, so none of them may take its result.
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
            scanner.turns.lock().latest.is_none(),
            "environments are not kept"
        );
    }
}
