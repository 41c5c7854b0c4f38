//! Waits for locks that end early, and what their errors say.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use swarm_os::{InheritableLock, LockInterrupt, LockOptions, OsError};

use crate::children::{Child, LockFixture, directory_only, until, until_blocked_on, waiting};
use crate::locks::SOON;

#[test]
fn the_deadline_names_the_file_and_the_holder() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    let limit = Duration::from_millis(200);
    let began = Instant::now();
    let refused = fixture.within(limit, |_| Ok(())).unwrap_err();
    assert!(began.elapsed() >= limit && began.elapsed() < limit + SOON);
    assert!(matches!(refused, OsError::LockTimeout { .. }));
    let message = refused.to_string();
    assert!(
        message.contains(fixture.sidecar.to_str().unwrap()),
        "{message}"
    );
    let pid = holder.pid().as_raw_nonzero().to_string();
    assert!(message.contains(&format!("process {pid} (")), "{message}");
}

#[test]
fn a_waiter_that_timed_out_does_not_keep_the_lock() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    fixture
        .within(Duration::from_millis(50), |_| Ok(()))
        .unwrap_err();
    holder.go_on();
    assert_eq!(holder.says(), "Ok(())");
    fixture.within(SOON, |_| Ok(())).unwrap();
}

#[test]
fn the_error_says_when_the_process_itself_holds_the_lock() {
    let (_directory, fixture) = LockFixture::fresh();
    let refused = fixture
        .within(SOON, |_| {
            fixture.within(Duration::from_millis(50), |_| Ok(()))
        })
        .unwrap_err();
    assert!(refused.to_string().contains("this process ("), "{refused}");
}

#[test]
fn a_retired_lock_is_not_taken_by_a_waiter_and_a_timeout_names_the_holder() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let take = |wait| InheritableLock::take(&path, wait);
    let lock = take(Duration::ZERO).unwrap();
    let refused = take(Duration::ZERO).unwrap_err().to_string();
    assert!(refused.contains("this process ("), "{refused}");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| take(SOON).unwrap());
        until_blocked_on(&path, 1);
        lock.retire();
        let _taken = waiter.join().unwrap();
        assert!(InheritableLock::try_take(&path).unwrap().is_none());
    });
}

#[test]
fn an_interrupt_stops_the_wait_for_a_lock() {
    let (_directory, fixture) = LockFixture::fresh();
    let interrupt = LockInterrupt::default();
    let patient = LockOptions {
        interrupt: Some(interrupt.clone()),
        ..waiting(Duration::from_hours(1))
    };
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let ours = scope.spawn(|| fixture.increment(&patient));
        until_blocked_on(&fixture.sidecar, 1);
        interrupt.interrupt();
        let refused = ours.join().unwrap();
        assert!(
            matches!(refused, Err(OsError::LockTimeout { .. })),
            "{refused:?}"
        );
    });
    holder.go_on();
    holder.says();
    holder.finish();
    // The lock of another program, and a wait after the interrupt.
    let (_directory, fixture) = LockFixture::fresh();
    let theirs = fixture.directory.join("inbox.json.lock");
    fs::create_dir(&theirs).unwrap();
    let refused = fixture.increment(&patient);
    assert!(
        matches!(refused, Err(OsError::LockTimeout { .. })),
        "{refused:?}"
    );
    fs::remove_dir(&theirs).unwrap();
    fixture.increment(&patient).unwrap();
}

#[test]
fn hurry_shortens_the_wait_for_another_program_but_not_for_a_process_of_swarm() {
    let (_directory, fixture) = LockFixture::fresh();
    let interrupt = LockInterrupt::default();
    let patient = LockOptions {
        interrupt: Some(interrupt.clone()),
        ..waiting(Duration::from_hours(1))
    };
    let theirs = fixture.directory.join("inbox.json.lock");
    fs::create_dir(&theirs).unwrap();
    thread::scope(|scope| {
        let ours = scope.spawn(|| fixture.increment(&patient));
        interrupt.hurry();
        let refused = ours.join().unwrap();
        assert!(
            matches!(refused, Err(OsError::LockTimeout { .. })),
            "{refused:?}"
        );
    });
    fs::remove_dir(&theirs).unwrap();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let ours = scope.spawn(|| fixture.locked(&patient, |_| Ok(())));
        until_blocked_on(&fixture.sidecar, 1);
        holder.go_on();
        holder.says();
        assert!(ours.join().unwrap().is_ok(), "it has waited");
    });
    holder.finish();
}

#[test]
fn the_error_for_a_lock_directory_names_its_last_holder_and_time() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds by directory", &fixture.directory);
    assert_eq!(holder.says(), "held");
    let hasty = LockOptions {
        deadline: Duration::from_millis(50),
        ..directory_only()
    };
    let refused = fixture.increment(&hasty).unwrap_err().to_string();
    let pid = format!("process {}", holder.pid().as_raw_nonzero());
    for part in [&pid, "has held the lock for", "refreshed its lock"] {
        assert!(refused.contains(part), "{refused}");
    }
    holder.go_on();
    holder.says();
    holder.finish();
}

/// Replaces the content under the lock, which it takes with the options that it gets.
fn replacing(fixture: &LockFixture) -> impl Fn(&LockOptions) -> Result<(), OsError> + use<> {
    let fixture = fixture.clone();
    move |options| fixture.locked(options, |held| held.replace(&fixture.data, b"ours"))
}

#[test]
fn the_thread_that_waits_for_a_lock_does_the_work_and_a_finished_one_is_not_repeated() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    let (replace, runs) = (replacing(&fixture), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&runs);
    let work = move |options: &LockOptions| {
        counted.fetch_add(1, Ordering::SeqCst);
        replace(options).unwrap();
        thread::current().id()
    };
    thread::scope(|scope| {
        let caller = scope.spawn(|| (thread::current().id(), waiting(SOON).run_waiting(work)));
        until_blocked_on(&fixture.sidecar, 1);
        holder.go_on();
        let (caller, worker) = caller.join().unwrap();
        assert_ne!(caller, worker);
    });
    assert_eq!(holder.says(), "Ok(())");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(fixture.content(), "ours");
}

#[test]
fn work_whose_lock_was_not_free_in_time_fails_and_changes_nothing_later() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    let limit = Duration::from_millis(200);
    let (replace, work) = (replacing(&fixture), Arc::new(()));
    let running = Arc::downgrade(&work);
    let refused = waiting(limit).run_waiting(move |options| {
        assert_eq!(Arc::strong_count(&work), 1);
        replace(options)
    });
    let Err(OsError::LockTimeout {
        waited, holder: by, ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert!(waited >= limit && waited < limit + SOON, "{waited:?}");
    let pid = holder.pid().as_raw_nonzero().to_string();
    assert!(by.contains(&format!("process {pid} (")), "{by}");
    holder.go_on();
    assert_eq!(holder.says(), "Ok(())");
    until("the thread ends", || running.strong_count() == 0);
    assert_eq!(fixture.content(), "late", "as the holder left it");
    fixture.within(SOON, |_| Ok(())).unwrap();
}

#[test]
fn work_that_has_its_lock_is_not_given_up_at_the_deadline() {
    let (_directory, fixture) = LockFixture::fresh();
    let limit = Duration::from_millis(50);
    let locked = fixture.clone();
    let done = waiting(limit).run_waiting(move |options| {
        locked.locked(options, |held| {
            let began = Instant::now();
            until("the deadline is over", || began.elapsed() > limit * 2);
            held.replace(&locked.data, b"ours")
        })
    });
    done.unwrap();
    assert_eq!(fixture.content(), "ours");
}

#[test]
fn a_panic_of_the_thread_that_waits_for_a_lock_reaches_the_caller() {
    let (_directory, fixture) = LockFixture::fresh();
    let locked = fixture.clone();
    let panicked = thread::spawn(move || {
        waiting(SOON).run_waiting(move |options| {
            locked.locked::<()>(options, |_held| panic!("under the lock"))
        })
    });
    panicked.join().unwrap_err();
    fixture.within(SOON, |_| Ok(())).unwrap();
}
