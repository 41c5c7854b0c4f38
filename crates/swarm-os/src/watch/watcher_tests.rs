use std::fs;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::super::inotify::News;
use super::*;

const LONG: Duration = Duration::from_hours(1);
const PATIENCE: Duration = Duration::from_mins(1);

/// How long nothing must happen for "nothing happens": events take well under a millisecond.
const QUIET: Duration = Duration::from_millis(150);

/// A watcher whose sweep never comes by itself.
fn without_sweep() -> DirectoryWatcher {
    DirectoryWatcher::start(Watched::new(Place::Threads), LONG..LONG)
}

fn json() -> NameFilter {
    NameFilter::Suffix(".json")
}

fn replace(directory: &Path, name: &str) {
    crate::replace_alone(&directory.join(name), b"x").unwrap();
}

#[test]
fn a_file_replaced_by_rename_is_seen_again_and_again() {
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
fn many_changes_between_two_looks_are_one_wake_up() {
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
fn looking_and_locking_wake_nobody() {
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
fn what_happens_after_subscribing_is_not_lost_before_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let mut changes = watcher.subscribe(directory.path(), NameFilter::Any);
    let mut early = watcher.subscribe(directory.path(), NameFilter::Any);
    replace(directory.path(), "1.json");
    assert!(changes.changed_blocking(PATIENCE));
    assert!(early.changed_blocking(Duration::ZERO));
}

#[test]
fn a_change_is_awaited_by_a_task() {
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
fn a_dropped_wait_loses_nothing() {
    let signal = Signal::default();
    let poll = || {
        let mut context = Context::from_waker(Waker::noop());
        pin!(signal.raised()).poll(&mut context)
    };
    assert_eq!(poll(), Poll::Pending);
    signal.raise();
    signal.raise();
    assert_eq!(poll(), Poll::Ready(()));
    assert_eq!(poll(), Poll::Pending, "a wake-up left over wakes nobody");
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
        assert!(changes.changed_blocking(PATIENCE), "the end is seen too");
        while changes.changed_blocking(QUIET) {}
        fs::remove_dir_all(outer.path().join("moved")).ok();
    }
}

#[test]
fn without_the_kernel_the_sweep_wakes() {
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
        stop: watched.stop_flag(),
        gap: SWEEP_GAP,
    };
    let gaps: Vec<_> = (0..100).map(|_| sweeper.draw_gap()).collect();
    assert!(gaps.iter().all(|gap| SWEEP_GAP.contains(gap)));
    assert!(gaps.windows(2).any(|two| two[0] != two[1]));
}

#[test]
fn what_was_lost_wakes_everybody_and_another_name_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = DirectoryWatcher::start(Watched::sweep_only(), LONG..LONG);
    let mut changes = watcher.subscribe(directory.path(), json());
    let mut wakes = |news| {
        watcher.watched.hear(news);
        changes.changed_blocking(Duration::ZERO)
    };
    assert!(!wakes(News::Name(directory.path(), "1.json.lock".as_ref())));
    assert!(!wakes(News::Name(Path::new("/"), "1.json".as_ref())));
    assert!(wakes(News::Name(directory.path(), "1.json".as_ref())));
    assert!(wakes(News::Directory(directory.path())));
    assert!(wakes(News::Lost));
}

#[test]
fn who_no_longer_hears_is_woken_and_hears_again_after_a_sweep() {
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

/// A runtime of one thread, as a teammate has.
fn of_one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn in_a_runtime_its_own_tasks_hear_of_changes() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = of_one_thread();
    let watcher = DirectoryWatcher::in_runtime(runtime.handle());
    let mut changes = watcher.subscribe(directory.path(), json());
    for _ in 0..3 {
        replace(directory.path(), "1.json");
        assert!(!changes.changed_blocking(QUIET), "no thread listens");
        let woken = async { tokio::time::timeout(PATIENCE, changes.changed()).await };
        assert!(runtime.block_on(woken).is_ok());
    }
    assert!(!watcher.is_degraded());
}

#[test]
fn in_a_runtime_a_sweep_finds_a_directory_that_came_later() {
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
fn subscriptions_end_one_by_one_and_the_threads_with_the_last() {
    let directory = tempfile::tempdir().unwrap();
    let watcher = without_sweep();
    let first = watcher.subscribe(directory.path(), json());
    let mut second = watcher.subscribe(directory.path(), json());
    drop(first);
    replace(directory.path(), "1.json");
    assert!(second.changed_blocking(PATIENCE));
    let stop = watcher.watched.stop_flag();
    drop(watcher);
    assert!(!stop.wait(Duration::ZERO), "a subscription keeps it alive");
    replace(directory.path(), "1.json");
    assert!(second.changed_blocking(PATIENCE));
    drop(second);
    assert!(stop.wait(Duration::ZERO));
}

/// Adding and removing watches while events pour in: each of the two waits for the event thread's answer.
#[test]
fn subscribing_amid_events_does_not_hang() {
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
