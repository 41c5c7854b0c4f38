//! Life locks: facts about who lives.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use swarm_os::{LifeHolder, Liveness, OsError, probe, wait_for_death};

use crate::children::{Child, Ground, Over, until_blocked_on};

/// A directory without a life file; the children live by the data file.
fn unborn() -> (tempfile::TempDir, Ground) {
    let (directory, ground) = Ground::fresh();
    fs::remove_file(&ground.data).unwrap();
    (directory, ground)
}

fn living() -> (tempfile::TempDir, Ground, Child) {
    let (directory, ground) = unborn();
    let mut child = Child::start("lives", &ground.directory);
    assert_eq!(child.says(), "alive");
    (directory, ground, child)
}

#[test]
fn foreign_alive_dead() {
    let (_directory, ground) = unborn();
    assert_eq!(probe(&ground.data).unwrap(), Liveness::Foreign);
    let life = LifeHolder::take(&ground.data, b"me").unwrap();
    assert_eq!(probe(&ground.data).unwrap(), Liveness::Alive);
    assert_eq!(ground.content(), "me");
    drop(life);
    assert_eq!(probe(&ground.data).unwrap(), Liveness::Dead);
}

#[test]
fn a_killed_process_is_dead_and_a_stopped_one_is_not() {
    let (_directory, ground, mut child) = living();
    child.signal(Signal::STOP);
    assert_eq!(probe(&ground.data).unwrap(), Liveness::Alive);
    child.kill();
    assert_eq!(probe(&ground.data).unwrap(), Liveness::Dead);
}

#[test]
fn whoever_waits_for_a_death_wakes_at_it() {
    let (_directory, ground, mut child) = living();
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| wait_for_death(&ground.data)))
            .collect();
        until_blocked_on(&ground.data, 3);
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        child.kill();
        for waiter in waiters {
            waiter.join().unwrap().unwrap();
        }
    });
    wait_for_death(&ground.data).unwrap();
}

#[test]
fn nobody_is_waited_for_who_never_lived_or_whose_team_is_gone() {
    let (_directory, ground) = unborn();
    let gone = wait_for_death(&ground.data);
    assert!(matches!(gone, Err(OsError::Gone { .. })));

    let (_directory, ground, mut child) = living();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| wait_for_death(&ground.data));
        until_blocked_on(&ground.data, 1);
        fs::remove_file(&ground.data).unwrap();
        child.kill();
        let gone = waiter.join().unwrap();
        assert!(matches!(gone, Err(OsError::Gone { .. })));
    });
}

#[test]
fn two_do_not_live_by_one_file() {
    let (_directory, ground, child) = living();
    let began = Instant::now();
    let refused = LifeHolder::take(&ground.data, b"usurper").unwrap_err();
    assert!(began.elapsed() >= Duration::from_secs(2), "no single try");
    assert!(matches!(refused, OsError::LockTimeout { .. }));
    assert!(refused.to_string().contains("child"), "{refused}");
    assert_eq!(ground.content(), "child", "the living one's");
    drop(child);
}

#[test]
fn a_successor_waits_for_its_predecessors_end_and_keeps_the_file() {
    let (_directory, ground, mut child) = living();
    let inode = fs::metadata(&ground.data).unwrap().ino();
    thread::scope(|scope| {
        let successor = scope.spawn(|| LifeHolder::take(&ground.data, b"me"));
        until_blocked_on(&ground.data, 1);
        child.kill();
        let _life = successor.join().unwrap().unwrap();
        assert_eq!(probe(&ground.data).unwrap(), Liveness::Alive);
    });
    assert_eq!(fs::metadata(&ground.data).unwrap().ino(), inode);
    assert_eq!(ground.content(), "me", "not the tail of the longer one");
}

/// Two exclusive probes would see each other, and a holder that tries once would meet a probe.
#[test]
fn probes_neither_see_each_other_nor_keep_a_holder_out() {
    let (_directory, ground) = unborn();
    drop(LifeHolder::take(&ground.data, b"first").unwrap());
    // The number of the life that is held; 0 between two.
    let (living, over) = (AtomicUsize::new(0), Over::default());
    thread::scope(|scope| {
        let _end = over.at_end();
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.is_over() {
                    let before = living.load(Ordering::SeqCst);
                    let seen = probe(&ground.data).unwrap();
                    if before != 0 && living.load(Ordering::SeqCst) == before {
                        assert_eq!(seen, Liveness::Alive);
                    }
                }
            });
        }
        for number in 1..=200 {
            assert_eq!(probe(&ground.data).unwrap(), Liveness::Dead);
            let life = LifeHolder::take(&ground.data, b"again").unwrap();
            living.store(number, Ordering::SeqCst);
            assert_eq!(probe(&ground.data).unwrap(), Liveness::Alive);
            living.store(0, Ordering::SeqCst);
            drop(life);
        }
    });
}

#[test]
fn a_life_file_appears_already_alive() {
    for _ in 0..50 {
        let (_directory, ground) = unborn();
        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                loop {
                    match probe(&ground.data).unwrap() {
                        Liveness::Foreign => {}
                        seen => return seen,
                    }
                }
            });
            let _life = LifeHolder::take(&ground.data, b"me").unwrap();
            assert_eq!(watcher.join().unwrap(), Liveness::Alive);
        });
    }
}
