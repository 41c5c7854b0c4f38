//! Another program at the lock door: one that knows directories only.

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use swarm_os::{LockOptions, OsError};

use crate::children::{Child, Ground, Over, directory_only, until, waiting};

/// Far less than any lock takes to grow stale, and enough for a busy machine.
const SOON: Duration = Duration::from_secs(10);

fn refreshed(lock_dir: &Path, at: SystemTime) {
    File::open(lock_dir).unwrap().set_modified(at).unwrap();
}

fn seconds_ago(seconds: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(seconds)
}

/// As a foreign program makes it, last refreshed at `at`.
fn foreign_lock(ground: &Ground, at: SystemTime) {
    fs::create_dir(&ground.lock_dir).unwrap();
    refreshed(&ground.lock_dir, at);
}

#[track_caller]
fn assert_respected(ground: &Ground) {
    let refused = ground
        .increment(&waiting(Duration::from_millis(600)))
        .unwrap_err();
    assert!(
        matches!(&refused, OsError::LockTimeout { path, .. } if *path == ground.lock_dir),
        "{refused}"
    );
    assert_eq!(ground.content(), "0");
    assert!(ground.lock_dir.symlink_metadata().is_ok());
}

#[test]
fn a_fresh_foreign_directory_is_respected() {
    let (_directory, ground) = Ground::fresh();
    foreign_lock(&ground, SystemTime::now());
    assert_respected(&ground);
}

#[test]
fn a_released_foreign_directory_lets_the_waiter_in() {
    let (_directory, ground) = Ground::fresh();
    foreign_lock(&ground, SystemTime::now());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| ground.increment(&waiting(SOON)));
        // The sidecar is signed once the waiter is past the flock.
        until("signed", || !fs::read(&ground.sidecar).unwrap().is_empty());
        fs::remove_dir(&ground.lock_dir).unwrap();
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(ground.content(), "1");
}

#[test]
fn a_stale_foreign_directory_is_broken_after_two_looks() {
    let (_directory, ground) = Ground::fresh();
    foreign_lock(&ground, seconds_ago(16));
    let began = Instant::now();
    ground.increment(&waiting(SOON)).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert!(ground.litter().is_empty());
}

#[test]
fn a_directory_that_others_would_break_already_is_not_stale_for_us() {
    let (_directory, ground) = Ground::fresh();
    foreign_lock(&ground, seconds_ago(11));
    assert_respected(&ground);
}

#[test]
fn an_old_directory_that_its_owner_still_refreshes_is_respected() {
    let (_directory, ground) = Ground::fresh();
    foreign_lock(&ground, seconds_ago(60));
    let over = Over::default();
    thread::scope(|scope| {
        let _end = over.at_end();
        scope.spawn(|| {
            let mut at = seconds_ago(60);
            while !over.is_over() {
                at += Duration::from_millis(1);
                refreshed(&ground.lock_dir, at);
                thread::yield_now();
            }
        });
        assert_respected(&ground);
    });
}

#[test]
fn a_time_in_the_future_counts_as_fresh() {
    let (_directory, ground) = Ground::fresh();
    foreign_lock(&ground, SystemTime::now() + Duration::from_hours(1));
    assert_respected(&ground);
}

#[test]
fn a_plain_file_in_its_place_is_never_removed() {
    let (_directory, ground) = Ground::fresh();
    File::create(&ground.lock_dir)
        .unwrap()
        .set_modified(seconds_ago(60))
        .unwrap();
    assert_respected(&ground);
}

#[test]
fn a_link_in_its_place_is_never_followed() {
    let (_directory, ground) = Ground::fresh();
    let victim = ground.directory.join("victim");
    fs::create_dir(&victim).unwrap();
    refreshed(&victim, seconds_ago(60));
    std::os::unix::fs::symlink(&victim, &ground.lock_dir).unwrap();
    assert_respected(&ground);
    assert!(victim.is_dir());
}

#[test]
fn our_mark_is_broken_at_once_under_the_flock_only() {
    let (_directory, ground) = Ground::fresh();
    let marked = || {
        let mode = rustix::fs::Mode::from_raw_mode(0o1700);
        rustix::fs::mkdir(&ground.lock_dir, mode).unwrap();
    };
    marked();
    let by_directory = LockOptions {
        deadline: Duration::from_millis(300),
        ..directory_only()
    };
    ground.increment(&by_directory).unwrap_err();
    assert!(ground.lock_dir.is_dir(), "its maker may live");

    let began = Instant::now();
    ground.increment(&LockOptions::default()).unwrap();
    assert!(began.elapsed() < SOON);
}

#[test]
fn what_a_dead_writer_left_beside_its_file_is_swept() {
    let (_directory, ground) = Ground::fresh();
    let mode = rustix::fs::Mode::from_raw_mode(0o1700);
    rustix::fs::mkdir(&ground.lock_dir, mode).unwrap();
    let left = ground.directory.join(".inbox.json.abc.swarm-tmp");
    let of_another = ground.directory.join(".other.json.abc.swarm-tmp");
    File::create(&left).unwrap();
    File::create(&of_another).unwrap();
    ground.increment(&LockOptions::default()).unwrap();
    assert!(!left.exists());
    assert!(of_another.exists(), "its writer may live");
}

#[test]
fn without_flock_the_directory_has_no_mark() {
    use std::os::unix::fs::MetadataExt;
    let (_directory, ground) = Ground::fresh();
    ground
        .locked(&directory_only(), |_| {
            let made = fs::metadata(&ground.lock_dir).unwrap();
            assert_eq!(made.mode() & 0o7777, 0o700);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_stopped_holder_whose_directory_was_broken_writes_nothing() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    holder.signal(Signal::STOP);
    // What proper-lockfile does to a stale lock.
    fs::remove_dir(&ground.lock_dir).unwrap();
    fs::create_dir(&ground.lock_dir).unwrap();
    swarm_os::replace_alone(&ground.data, b"theirs").unwrap();
    holder.signal(Signal::CONT);
    holder.go_on();
    let outcome = holder.says();
    assert!(outcome.starts_with("Err(LockLost"), "{outcome}");
    holder.finish();
    assert_eq!(ground.content(), "theirs");
    assert_eq!(ground.litter(), ["inbox.json.lock"], "it is theirs");
}

#[test]
fn a_stopped_holder_whose_directory_is_gone_writes_nothing() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    holder.signal(Signal::STOP);
    fs::remove_dir(&ground.lock_dir).unwrap();
    holder.signal(Signal::CONT);
    holder.go_on();
    let outcome = holder.says();
    assert!(outcome.starts_with("Err(LockLost"), "{outcome}");
    holder.finish();
    assert_eq!(ground.content(), "0");
    assert!(ground.litter().is_empty());
}

#[test]
fn nothing_at_all_is_changed_without_the_directory() {
    let (_directory, ground) = Ground::fresh();
    let journal = ground.directory.join("journal");
    ground
        .within(SOON, |held| {
            fs::remove_dir(&ground.lock_dir).unwrap();
            fs::create_dir(&ground.lock_dir).unwrap();
            for refused in [
                held.replace(&ground.data, b"x"),
                held.remove(&ground.data),
                held.append(&journal, b"x\n"),
            ] {
                assert!(matches!(refused, Err(OsError::LockLost { .. })));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(ground.content(), "0");
    assert!(!journal.exists());
}

#[test]
fn writing_makes_an_ageing_lock_young_again() {
    let (_directory, ground) = Ground::fresh();
    ground
        .within(SOON, |held| {
            refreshed(&ground.lock_dir, seconds_ago(9));
            held.replace(&ground.data, b"x")?;
            let age = fs::metadata(&ground.lock_dir)
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
fn our_writers_and_foreign_ones_lose_nothing_together() {
    let (_directory, ground) = Ground::fresh();
    let children: Vec<_> = ["increments", "increments as others do"]
        .iter()
        .cycle()
        .take(6)
        .map(|role| Child::start(role, &ground.directory))
        .collect();
    children.into_iter().for_each(Child::finish);
    assert_eq!(ground.content(), (3 * 50 + 3 * 20).to_string());
    assert!(ground.litter().is_empty());
}
