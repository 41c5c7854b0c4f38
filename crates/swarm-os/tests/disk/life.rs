//! Life locks.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use swarm_os::{LifeHolder, Liveness, OsError, probe, wait_for_death};

use crate::children::{Child, LockFixture, StopFlag, until_blocked_on};

/// A directory without a life file; child processes use the data file as life file.
fn without_life_file() -> (tempfile::TempDir, LockFixture) {
    let (directory, fixture) = LockFixture::fresh();
    fs::remove_file(&fixture.data).unwrap();
    (directory, fixture)
}

fn with_running_child() -> (tempfile::TempDir, LockFixture, Child) {
    let (directory, fixture) = without_life_file();
    let mut child = Child::start("lives", &fixture.directory);
    assert_eq!(child.says(), "alive");
    (directory, fixture, child)
}

#[test]
fn a_life_file_is_foreign_before_alive_during_and_dead_after_the_lock() {
    let (_directory, fixture) = without_life_file();
    assert_eq!(probe(&fixture.data).unwrap(), Liveness::Foreign);
    let life = LifeHolder::take(&fixture.data, b"me").unwrap();
    assert_eq!(probe(&fixture.data).unwrap(), Liveness::Alive);
    assert_eq!(fixture.content(), "me");
    drop(life);
    assert_eq!(probe(&fixture.data).unwrap(), Liveness::Dead);
}

#[test]
fn a_killed_process_is_dead_and_a_stopped_one_is_not() {
    let (_directory, fixture, mut child) = with_running_child();
    child.signal(Signal::STOP);
    assert_eq!(probe(&fixture.data).unwrap(), Liveness::Alive);
    child.kill();
    assert_eq!(probe(&fixture.data).unwrap(), Liveness::Dead);
}

#[test]
fn waiters_return_when_the_process_dies() {
    let (_directory, fixture, mut child) = with_running_child();
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| wait_for_death(&fixture.data)))
            .collect();
        until_blocked_on(&fixture.data, 3);
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        child.kill();
        for waiter in waiters {
            waiter.join().unwrap().unwrap();
        }
    });
    wait_for_death(&fixture.data).unwrap();
}

#[test]
fn waiting_fails_if_the_life_file_is_missing_or_removed() {
    let (_directory, fixture) = without_life_file();
    let gone = wait_for_death(&fixture.data);
    assert!(matches!(gone, Err(OsError::Gone(_))));

    let (_directory, fixture, mut child) = with_running_child();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| wait_for_death(&fixture.data));
        until_blocked_on(&fixture.data, 1);
        fs::remove_file(&fixture.data).unwrap();
        child.kill();
        let gone = waiter.join().unwrap();
        assert!(matches!(gone, Err(OsError::Gone(_))));
    });
}

#[test]
fn a_life_lock_has_one_holder() {
    let (_directory, fixture, child) = with_running_child();
    let began = Instant::now();
    let refused = LifeHolder::take(&fixture.data, b"usurper").unwrap_err();
    assert!(
        began.elapsed() >= Duration::from_secs(2),
        "it waited for the lock"
    );
    assert!(matches!(refused, OsError::LockTimeout { .. }));
    assert!(refused.to_string().contains("child"), "{refused}");
    assert_eq!(fixture.content(), "child", "the content of the holder");
    drop(child);
}

#[test]
fn a_successor_waits_for_its_predecessor_and_keeps_the_file() {
    let (_directory, fixture, mut child) = with_running_child();
    let inode = fs::metadata(&fixture.data).unwrap().ino();
    thread::scope(|scope| {
        let successor = scope.spawn(|| LifeHolder::take(&fixture.data, b"me"));
        until_blocked_on(&fixture.data, 1);
        child.kill();
        let _life = successor.join().unwrap().unwrap();
        assert_eq!(probe(&fixture.data).unwrap(), Liveness::Alive);
    });
    assert_eq!(fs::metadata(&fixture.data).unwrap().ino(), inode);
    assert_eq!(
        fixture.content(),
        "me",
        "without the rest of the longer content"
    );
}

#[test]
fn a_successor_does_not_take_a_file_that_was_removed_while_it_waited() {
    let (_directory, fixture, mut child) = with_running_child();
    thread::scope(|scope| {
        let successor = scope.spawn(|| LifeHolder::take(&fixture.data, b"me"));
        until_blocked_on(&fixture.data, 1);
        fs::remove_file(&fixture.data).unwrap();
        child.kill();
        let gone = successor.join().unwrap();
        assert!(matches!(gone, Err(OsError::Gone(_))), "{gone:?}");
    });
}

#[test]
fn a_probe_is_not_taken_for_the_holder_by_another_one() {
    let (_directory, fixture) = without_life_file();
    drop(LifeHolder::take(&fixture.data, b"me").unwrap());
    let other = File::open(&fixture.data).unwrap();
    other.lock_shared().unwrap();
    assert_eq!(probe(&fixture.data).unwrap(), Liveness::Dead);
}

/// A holder that tries only once could collide with a probe.
#[test]
fn probes_do_not_block_a_holder() {
    let (_directory, fixture) = without_life_file();
    drop(LifeHolder::take(&fixture.data, b"first").unwrap());
    // The number of the present holder; 0 between two holders.
    let (holder, stop) = (AtomicUsize::new(0), StopFlag::default());
    thread::scope(|scope| {
        let _end = stop.stop_on_drop();
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.is_set() {
                    let before = holder.load(Ordering::SeqCst);
                    let seen = probe(&fixture.data).unwrap();
                    if before != 0 && holder.load(Ordering::SeqCst) == before {
                        assert_eq!(seen, Liveness::Alive);
                    }
                }
            });
        }
        for number in 1..=200 {
            assert_eq!(probe(&fixture.data).unwrap(), Liveness::Dead);
            let life = LifeHolder::take(&fixture.data, b"again").unwrap();
            holder.store(number, Ordering::SeqCst);
            assert_eq!(probe(&fixture.data).unwrap(), Liveness::Alive);
            holder.store(0, Ordering::SeqCst);
            drop(life);
        }
    });
}

#[test]
fn a_new_life_file_appears_locked() {
    for _ in 0..50 {
        let (_directory, fixture) = without_life_file();
        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                loop {
                    match probe(&fixture.data).unwrap() {
                        Liveness::Foreign => {}
                        seen => return seen,
                    }
                }
            });
            let _life = LifeHolder::take(&fixture.data, b"me").unwrap();
            assert_eq!(watcher.join().unwrap(), Liveness::Alive);
        });
    }
}

/// Its holder removes the file before it releases the lock, so nobody may find it unlocked.
#[test]
fn a_removed_life_file_is_foreign_and_never_dead() {
    let (_directory, fixture) = without_life_file();
    let stop = StopFlag::default();
    thread::scope(|scope| {
        let _end = stop.stop_on_drop();
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.is_set() {
                    assert_ne!(probe(&fixture.data).unwrap(), Liveness::Dead);
                }
            });
        }
        for _ in 0..1000 {
            let life = LifeHolder::take(&fixture.data, b"me").unwrap();
            fs::remove_file(&fixture.data).unwrap();
            drop(life);
        }
    });
}
