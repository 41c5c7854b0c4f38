//! Lock contention with another program that only uses lock directories.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use swarm_os::{LockInterrupt, LockOptions, OsError};

use crate::children::{Child, LockFixture, StopFlag, directory_only, until, waiting};

/// Shorter than the time after which a lock is stale, and long enough for a busy machine.
const SOON: Duration = Duration::from_secs(10);

fn set_refresh_time(lock_dir: &Path, at: SystemTime) {
    File::open(lock_dir).unwrap().set_modified(at).unwrap();
}

fn seconds_ago(seconds: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(seconds)
}

/// Creates a lock directory as another program does, last refreshed at `at`.
fn foreign_lock(fixture: &LockFixture, at: SystemTime) {
    fs::create_dir(&fixture.lock_dir).unwrap();
    set_refresh_time(&fixture.lock_dir, at);
}

#[track_caller]
fn assert_respected(fixture: &LockFixture) {
    let refused = fixture
        .increment(&waiting(Duration::from_millis(600)))
        .unwrap_err();
    assert!(
        matches!(&refused, OsError::LockTimeout { path, .. } if *path == fixture.lock_dir),
        "{refused}"
    );
    assert_eq!(fixture.content(), "0");
    assert!(fixture.lock_dir.symlink_metadata().is_ok());
}

#[test]
fn a_fresh_foreign_directory_is_respected() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, SystemTime::now());
    assert_respected(&fixture);
}

/// Waits until a holder is recorded in the sidecar: the waiter has had the flock.
fn holder_is_recorded(fixture: &LockFixture) {
    until("holder recorded", || {
        !fs::read(&fixture.sidecar).unwrap().is_empty()
    });
}

#[test]
fn a_waiter_gets_the_lock_when_a_foreign_directory_is_removed() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, SystemTime::now());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| fixture.increment(&waiting(SOON)));
        holder_is_recorded(&fixture);
        fs::remove_dir(&fixture.lock_dir).unwrap();
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(fixture.content(), "1");
}

#[test]
fn a_process_in_a_hurry_does_not_wait_for_one_that_waits_for_another_program() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, SystemTime::now());
    let interrupt = LockInterrupt::default();
    interrupt.hurry();
    let hurried = LockOptions {
        interrupt: Some(interrupt),
        ..waiting(SOON)
    };
    thread::scope(|scope| {
        let patient = scope.spawn(|| fixture.increment(&waiting(SOON)));
        holder_is_recorded(&fixture);
        let refused = fixture.increment(&hurried).unwrap_err();
        assert!(
            matches!(&refused, OsError::LockTimeout { path, .. } if *path == fixture.lock_dir),
            "{refused}"
        );
        assert!(!patient.is_finished());
        fs::remove_dir(&fixture.lock_dir).unwrap();
        patient.join().unwrap().unwrap();
    });
    assert_eq!(fixture.content(), "1");
}

#[test]
fn a_waiter_fails_if_the_sidecar_was_replaced_while_another_program_held_the_lock() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, SystemTime::now());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| fixture.increment(&waiting(SOON)));
        holder_is_recorded(&fixture);
        fs::remove_file(&fixture.sidecar).unwrap();
        swarm_os::create_sidecar(&fixture.sidecar).unwrap();
        // The waiter takes it after two checks.
        set_refresh_time(&fixture.lock_dir, seconds_ago(16));
        let refused = waiter.join().unwrap().unwrap_err();
        assert!(matches!(refused, OsError::Gone(_)), "{refused}");
    });
    assert_eq!(fixture.content(), "0");
}

#[test]
fn a_stale_foreign_directory_is_broken_after_two_checks() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, seconds_ago(16));
    let began = Instant::now();
    fixture.increment(&waiting(SOON)).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn a_directory_is_stale_later_for_swarm_than_for_other_programs() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, seconds_ago(11));
    assert_respected(&fixture);
}

#[test]
fn an_old_directory_that_is_still_refreshed_is_respected() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, seconds_ago(60));
    let stop = StopFlag::default();
    thread::scope(|scope| {
        let _end = stop.stop_on_drop();
        scope.spawn(|| {
            let mut at = seconds_ago(60);
            while !stop.is_set() {
                at += Duration::from_millis(1);
                set_refresh_time(&fixture.lock_dir, at);
                thread::yield_now();
            }
        });
        assert_respected(&fixture);
    });
}

#[test]
fn a_time_in_the_future_counts_as_fresh() {
    let (_directory, fixture) = LockFixture::fresh();
    foreign_lock(&fixture, SystemTime::now() + Duration::from_hours(1));
    assert_respected(&fixture);
}

#[test]
fn a_file_at_the_path_of_the_lock_directory_is_neither_removed_nor_moved_away() {
    let (_directory, fixture) = LockFixture::fresh();
    let file = File::create(&fixture.lock_dir).unwrap();
    file.set_modified(seconds_ago(60)).unwrap();
    let last_change = || {
        let found = file.metadata().unwrap();
        (found.ctime(), found.ctime_nsec())
    };
    let before = last_change();
    assert_respected(&fixture);
    assert_eq!(last_change(), before, "not even for a moment");
}

#[test]
fn a_symbolic_link_at_the_path_of_the_lock_directory_is_never_followed() {
    let (_directory, fixture) = LockFixture::fresh();
    let victim = fixture.directory.join("victim");
    fs::create_dir(&victim).unwrap();
    set_refresh_time(&victim, seconds_ago(60));
    std::os::unix::fs::symlink(&victim, &fixture.lock_dir).unwrap();
    assert_respected(&fixture);
    assert!(victim.is_dir());
}

#[test]
fn a_marked_directory_is_broken_immediately_only_under_the_flock() {
    let (_directory, fixture) = LockFixture::fresh();
    let marked = || {
        let mode = rustix::fs::Mode::from_raw_mode(0o1700);
        rustix::fs::mkdir(&fixture.lock_dir, mode).unwrap();
    };
    marked();
    let by_directory = LockOptions {
        deadline: Duration::from_millis(300),
        ..directory_only()
    };
    fixture.increment(&by_directory).unwrap_err();
    assert!(fixture.lock_dir.is_dir(), "its creator may be running");

    let began = Instant::now();
    fixture.increment(&LockOptions::default()).unwrap();
    assert!(began.elapsed() < SOON);
}

#[test]
fn a_marked_directory_of_another_user_is_respected() {
    let (_directory, fixture) = LockFixture::fresh();
    let mode = rustix::fs::Mode::from_raw_mode(0o1700);
    rustix::fs::mkdir(&fixture.lock_dir, mode).unwrap();
    if std::os::unix::fs::chown(&fixture.lock_dir, Some(65534), None).is_err() {
        eprintln!("skipped: only root can give a directory to another user");
        return;
    }
    assert_respected(&fixture);
}

#[test]
fn temporary_files_of_a_dead_writer_are_removed() {
    let (_directory, fixture) = LockFixture::fresh();
    let mode = rustix::fs::Mode::from_raw_mode(0o1700);
    rustix::fs::mkdir(&fixture.lock_dir, mode).unwrap();
    let left = fixture.directory.join(".inbox.json.abc.swarm-tmp");
    let of_another = fixture.directory.join(".other.json.abc.swarm-tmp");
    File::create(&left).unwrap();
    File::create(&of_another).unwrap();
    fixture.increment(&LockOptions::default()).unwrap();
    assert!(!left.exists());
    assert!(of_another.exists(), "its writer may be running");
}

#[test]
fn without_flock_the_lock_directory_is_not_marked() {
    let (_directory, fixture) = LockFixture::fresh();
    fixture
        .locked(&directory_only(), |_| {
            let made = fs::metadata(&fixture.lock_dir).unwrap();
            assert_eq!(made.mode() & 0o7777, 0o700);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_stopped_holder_whose_directory_was_broken_writes_nothing() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    holder.signal(Signal::STOP);
    // As proper-lockfile handles a stale lock.
    fs::remove_dir(&fixture.lock_dir).unwrap();
    fs::create_dir(&fixture.lock_dir).unwrap();
    swarm_os::replace_alone(&fixture.data, b"theirs").unwrap();
    holder.signal(Signal::CONT);
    holder.go_on();
    let outcome = holder.says();
    assert!(outcome.starts_with("Err(LockLost"), "{outcome}");
    holder.finish();
    assert_eq!(fixture.content(), "theirs");
    assert_eq!(
        fixture.leftovers(),
        ["inbox.json.lock"],
        "the foreign lock remains"
    );
}

#[test]
fn a_stopped_holder_whose_directory_is_gone_writes_nothing() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    holder.signal(Signal::STOP);
    fs::remove_dir(&fixture.lock_dir).unwrap();
    holder.signal(Signal::CONT);
    holder.go_on();
    let outcome = holder.says();
    assert!(outcome.starts_with("Err(LockLost"), "{outcome}");
    holder.finish();
    assert_eq!(fixture.content(), "0");
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn no_operation_writes_after_the_lock_directory_was_replaced_and_the_other_lock_remains() {
    for options in [waiting(SOON), directory_only()] {
        let (_directory, fixture) = LockFixture::fresh();
        let journal = fixture.directory.join("journal");
        fixture
            .locked(&options, |held| {
                fs::remove_dir(&fixture.lock_dir).unwrap();
                fs::create_dir(&fixture.lock_dir).unwrap();
                let together = [(fixture.data.clone(), b"x".to_vec())];
                for refused in [
                    held.replace(&fixture.data, b"x"),
                    held.place_all(&fixture.directory, &together).map(drop),
                    held.remove(&fixture.data),
                    held.append(&journal, b"x\n"),
                ] {
                    assert!(matches!(refused, Err(OsError::LockLost(_))));
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(fixture.content(), "0");
        assert!(!journal.exists() && fixture.lock_dir.is_dir());
    }
}

#[test]
fn writing_refreshes_the_lock_directory() {
    let (_directory, fixture) = LockFixture::fresh();
    fixture
        .within(SOON, |held| {
            set_refresh_time(&fixture.lock_dir, seconds_ago(9));
            held.replace(&fixture.data, b"x")?;
            let age = fs::metadata(&fixture.lock_dir)
                .and_then(|made| made.modified())
                .unwrap()
                .elapsed()
                .unwrap();
            assert!(age < Duration::from_secs(5));
            Ok(())
        })
        .unwrap();
}

#[test]
fn concurrent_swarm_and_foreign_writers_lose_no_increment() {
    let (_directory, fixture) = LockFixture::fresh();
    let children: Vec<_> = ["increments", "increments as others do"]
        .iter()
        .cycle()
        .take(6)
        .map(|role| Child::start(role, &fixture.directory))
        .collect();
    children.into_iter().for_each(Child::finish);
    assert_eq!(fixture.content(), (3 * 50 + 3 * 20).to_string());
    assert!(fixture.leftovers().is_empty());
}
