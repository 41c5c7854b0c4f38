use std::fs;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::super::inotify::FileEvent;
use super::*;

const LONG: Duration = Duration::from_hours(1);
const PATIENCE: Duration = Duration::from_mins(1);

/// Timeout of tests for the absence of events, which take less than a millisecond.
const QUIET: Duration = Duration::from_millis(150);

/// A watcher without automatic sweeps.
fn without_sweep() -> DirectoryWatcher {
    DirectoryWatcher::start(Watched::new(Executor::Threads), LONG..LONG)
}

fn json() -> NameFilter {
    NameFilter::Suffix(".json")
}

fn replace(directory: &Path, name: &str) {
    crate::replace_alone(&directory.join(name), b"x").unwrap();
}

#[test]
fn repeated_replacements_of_a_file_are_detected() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(directory.path(), json());
    for _ in 0..5 {
        replace(directory.path(), "1.json");
        assert!(changes.changed_blocking(PATIENCE));
        while changes.changed_blocking(QUIET) {}
    }
    assert!(!watcher.is_degraded());
}

#[test]
fn many_changes_between_two_waits_are_one_wake_up() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(directory.path(), json());
    let mut last = watcher.subscribe(
        directory.path(),
        NameFilter::Exact(vec!["last.json".into()]),
    );
    for _ in 0..100 {
        replace(directory.path(), "1.json");
    }
    replace(directory.path(), "last.json");
    assert!(last.changed_blocking(PATIENCE));
    while last.changed_blocking(QUIET) {}
    assert!(changes.changed_blocking(Duration::ZERO));
    assert!(!changes.changed_blocking(QUIET));
}

#[test]
fn reading_and_locking_do_not_wake_subscribers() {
    let directory = tempfile::tempdir().unwrap();
    let sidecar = directory.path().join("locks");
    crate::create_sidecar(&sidecar).unwrap();
    replace(directory.path(), "1.json");
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(directory.path(), json());
    let data = [directory.path().join("1.json")];
    let plan = crate::LockPlan {
        sidecar: &sidecar,
        data: &data,
    };
    crate::with_lock(&plan, &crate::LockOptions::default(), |_| {
        fs::read_dir(directory.path()).unwrap().for_each(drop);
        crate::read_optional(&data[0]).map(drop)
    })
    .unwrap();
    crate::create_private_file(&directory.path().join("1.json.tmp")).unwrap();
    assert!(!changes.changed_blocking(QUIET));
}

#[test]
fn changes_between_subscribing_and_waiting_are_not_lost() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(directory.path(), NameFilter::Any);
    let mut early = watcher.subscribe(directory.path(), NameFilter::Any);
    replace(directory.path(), "1.json");
    assert!(changes.changed_blocking(PATIENCE));
    assert!(early.changed_blocking(Duration::ZERO));
}

#[test]
fn a_change_wakes_a_task() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(directory.path(), json());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        for _ in 0..3 {
            let change = async { replace(directory.path(), "1.json") };
            let woken = tokio::time::timeout(PATIENCE, changes.changed());
            assert!(tokio::join!(woken, change).0.is_ok());
        }
    });
}

#[test]
fn dropping_a_wait_loses_no_change() {
    let signal = Signal::default();
    let poll = || {
        let mut context = Context::from_waker(Waker::noop());
        pin!(signal.raised()).poll(&mut context)
    };
    assert_eq!(poll(), Poll::Pending);
    signal.raise();
    signal.raise();
    assert_eq!(poll(), Poll::Ready(()));
    assert_eq!(poll(), Poll::Pending, "the flag was reset");
}

#[test]
fn a_directory_that_is_replaced_is_watched_again_after_a_sweep() {
    let outer = tempfile::tempdir().unwrap();
    let directory = outer.path().join("inboxes");
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(&directory, json());
    assert!(watcher.is_degraded(), "there is no directory yet");
    for step in [
        "made",
        "removed and made again",
        "moved away and made again",
    ] {
        fs::create_dir(&directory).unwrap();
        watcher.watched.sweep();
        assert!(changes.changed_blocking(Duration::ZERO), "the sweep wakes");
        while changes.changed_blocking(QUIET) {}
        assert!(!watcher.is_degraded(), "{step}");
        replace(&directory, "1.json");
        assert!(changes.changed_blocking(PATIENCE), "{step}");
        match step {
            "made" => fs::remove_dir_all(&directory).unwrap(),
            _ => fs::rename(&directory, outer.path().join("moved")).unwrap(),
        }
        assert!(
            changes.changed_blocking(PATIENCE),
            "the removal is detected too"
        );
        while changes.changed_blocking(QUIET) {}
        fs::remove_dir_all(outer.path().join("moved")).ok();
    }
}

#[test]
fn sweeps_wake_subscribers_without_inotify() {
    let directory = tempfile::tempdir().unwrap();
    let gap = Duration::from_millis(5)..Duration::from_millis(10);
    let watcher = DirectoryWatcher::start(Watched::sweep_only(), gap);
    let mut changes = watcher.subscribe(directory.path(), json());
    assert!(watcher.is_degraded());
    for _ in 0..3 {
        assert!(changes.changed_blocking(PATIENCE));
    }
}

#[test]
fn gaps_between_sweeps_differ_and_stay_in_range() {
    let watched = Arc::new(Watched::sweep_only());
    let sweeper = Sweeper {
        watched: Arc::downgrade(&watched),
        stop: watched.stop(),
        gap: SWEEP_GAP,
    };
    let gaps: Vec<_> = (0..100).map(|_| sweeper.draw_gap()).collect();
    assert!(gaps.iter().all(|gap| SWEEP_GAP.contains(gap)));
    assert!(gaps.windows(2).any(|two| two[0] != two[1]));
}

#[test]
fn lost_events_wake_all_subscribers_and_other_names_none() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = DirectoryWatcher::start(Watched::sweep_only(), LONG..LONG);
    let mut changes = watcher.subscribe(directory.path(), json());
    let mut wakes = |event| {
        watcher.watched.dispatch(event);
        changes.changed_blocking(Duration::ZERO)
    };
    assert!(!wakes(FileEvent::Name(
        directory.path(),
        "1.json.lock".as_ref()
    )));
    assert!(!wakes(FileEvent::Name(Path::new("/"), "1.json".as_ref())));
    assert!(wakes(FileEvent::Name(directory.path(), "1.json".as_ref())));
    assert!(wakes(FileEvent::Directory(directory.path())));
    assert!(wakes(FileEvent::Lost));
}

#[test]
fn lost_events_wake_subscribers_and_a_sweep_restarts_the_listener() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(directory.path(), json());
    watcher.watched.lose_events();
    assert!(changes.changed_blocking(Duration::ZERO));
    watcher.watched.sweep();
    while changes.changed_blocking(QUIET) {}
    assert!(!watcher.is_degraded());
    replace(directory.path(), "1.json");
    assert!(changes.changed_blocking(PATIENCE));
}

/// A single-threaded runtime, like that of a teammate.
fn of_one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn a_runtime_watcher_wakes_tasks_without_threads() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = of_one_thread();
    let watcher = DirectoryWatcher::in_runtime(runtime.handle());
    let mut changes = watcher.subscribe(directory.path(), json());
    for _ in 0..3 {
        replace(directory.path(), "1.json");
        assert!(!changes.changed_blocking(QUIET), "no thread reads events");
        let woken = async { tokio::time::timeout(PATIENCE, changes.changed()).await };
        assert!(runtime.block_on(woken).is_ok());
    }
    assert!(!watcher.is_degraded());
}

#[test]
fn a_runtime_watcher_finds_a_directory_created_later() {
    let outer = tempfile::tempdir().unwrap();
    let directory = outer.path().join("inboxes");
    let runtime = of_one_thread();
    let watcher = DirectoryWatcher::in_runtime(runtime.handle());
    let mut changes = watcher.subscribe(&directory, json());
    assert!(watcher.is_degraded(), "there is no directory yet");
    fs::create_dir(&directory).unwrap();
    runtime.block_on(async {
        while watcher.is_degraded() {
            tokio::time::timeout(PATIENCE, changes.changed())
                .await
                .expect("a sweep");
        }
    });
}

#[test]
fn threads_stop_with_the_last_subscription() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let first = watcher.subscribe(directory.path(), json());
    let mut second = watcher.subscribe(directory.path(), json());
    drop(first);
    replace(directory.path(), "1.json");
    assert!(second.changed_blocking(PATIENCE));
    let weak = Arc::downgrade(&watcher.watched);
    let stop = watcher.watched.stop();
    drop(watcher);
    assert!(weak.upgrade().is_some(), "a subscription keeps it alive");
    replace(directory.path(), "1.json");
    assert!(second.changed_blocking(PATIENCE));
    drop(second);
    assert!(weak.upgrade().is_none());
    // The thread of the sweeps has the other reference.
    let began = std::time::Instant::now();
    while Arc::strong_count(&stop) > 1 {
        assert!(began.elapsed() < PATIENCE, "the thread still runs");
        thread::yield_now();
    }
}

/// Adds and removes watches while many events arrive.
#[test]
fn subscribing_during_many_events_does_not_deadlock() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let done = Mutex::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !*done.lock() {
                crate::create_private_file(&directory.path().join("1.json")).unwrap();
                fs::remove_file(directory.path().join("1.json")).unwrap();
            }
        });
        for _ in 0..200 {
            let mut changes = watcher.subscribe(directory.path(), json());
            assert!(changes.changed_blocking(PATIENCE));
        }
        *done.lock() = true;
    });
}
