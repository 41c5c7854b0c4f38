//! Lock contention between processes and threads of swarm.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use swarm_os::{LockOptions, LockPlan, OsError, with_lock, with_lock_after};

use crate::children::{Child, LockFixture, directory_only, until, until_blocked_on, waiting};

/// Shorter than the time after which a lock is stale, and long enough for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(10);

#[test]
fn eight_processes_lose_no_increment() {
    let (_directory, fixture) = LockFixture::fresh();
    let children: Vec<_> = (0..8)
        .map(|_| Child::start("increments", &fixture.directory))
        .collect();
    children.into_iter().for_each(Child::finish);
    assert_eq!(fixture.content(), "400");
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn eight_processes_lose_no_increment_with_lock_directories_only() {
    let (_directory, fixture) = LockFixture::fresh();
    let children: Vec<_> = (0..8)
        .map(|_| Child::start("increments by directory", &fixture.directory))
        .collect();
    children.into_iter().for_each(Child::finish);
    assert_eq!(fixture.content(), "160");
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn threads_of_one_process_exclude_each_other() {
    let (_directory, fixture) = LockFixture::fresh();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    fixture.increment(&LockOptions::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(fixture.content(), "200");
}

#[test]
fn a_killed_holder_leaves_no_lock() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    holder.kill();
    assert!(
        fixture.lock_dir.is_dir(),
        "the lock directory of the killed process remains"
    );

    let began = Instant::now();
    let was_left_behind = fixture.within(SOON, |held| Ok(held.was_left_behind()));
    assert!(was_left_behind.unwrap());
    fixture.increment(&LockOptions::default()).unwrap();
    assert!(began.elapsed() < SOON);
    assert_eq!(fixture.content(), "1");
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn a_program_started_under_a_lock_inherits_no_descriptor_of_it() {
    for options in [waiting(SOON), directory_only()] {
        let (_directory, fixture) = LockFixture::fresh();
        // It runs until its input is closed.
        let mut started = fixture
            .locked(&options, |_| {
                let mut command = Command::new("cat");
                let spawned = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
                Ok(spawned.unwrap())
            })
            .unwrap();
        let open = fs::read_dir(format!("/proc/{}/fd", started.id())).unwrap();
        let inherited: Vec<_> = open
            .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
            .filter(|path| path.starts_with(&fixture.directory))
            .collect();
        drop(started.stdin.take());
        started.wait().unwrap();
        assert!(inherited.is_empty(), "{inherited:?}");
    }
}

#[test]
fn a_waiter_gets_the_lock_when_its_holder_is_killed() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| fixture.increment(&waiting(SOON * 2)));
        until_blocked_on(&fixture.sidecar, 1);
        let began = Instant::now();
        holder.kill();
        assert_eq!(waiter.join().unwrap().unwrap(), 1);
        assert!(began.elapsed() < SOON, "the kernel wakes it");
    });
}

#[test]
fn writers_killed_at_any_moment_lose_nothing_that_was_acknowledged() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut acknowledged = 0;
    for round in 0..20 {
        let mut writer = Child::start("increments until killed", &fixture.directory);
        for _ in 0..=round % 4 {
            acknowledged = writer.says().parse::<u64>().unwrap();
        }
        writer.kill();
        let began = Instant::now();
        let next = fixture.increment(&LockOptions::default()).unwrap();
        assert!(began.elapsed() < SOON, "a dead writer blocks nobody");
        assert!(next > acknowledged);
    }
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn a_stopped_holder_keeps_its_lock() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    holder.signal(Signal::STOP);
    let refused = fixture.within(Duration::from_millis(300), |_| Ok(()));
    assert!(matches!(refused, Err(OsError::LockTimeout { .. })));
    holder.signal(Signal::CONT);
    holder.go_on();
    assert_eq!(holder.says(), "Ok(())");
    assert_eq!(fixture.content(), "late");
}

#[test]
fn locking_fails_without_a_sidecar_and_does_not_create_it() {
    let (_directory, fixture) = LockFixture::fresh();
    fs::remove_file(&fixture.sidecar).unwrap();
    for options in [LockOptions::default(), directory_only()] {
        let refused = fixture.locked(&options, |_| Ok(())).unwrap_err();
        assert!(matches!(&refused, OsError::Gone(path) if *path == fixture.sidecar));
    }
    assert!(!fixture.sidecar.exists(), "the sidecar is not created");
}

#[test]
fn a_waiter_fails_if_the_sidecar_was_replaced() {
    let (_directory, fixture) = LockFixture::fresh();
    let mut holder = Child::start("holds", &fixture.directory);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| fixture.within(Duration::from_secs(10), |_| Ok(())));
        until_blocked_on(&fixture.sidecar, 1);
        fs::remove_file(&fixture.sidecar).unwrap();
        swarm_os::create_sidecar(&fixture.sidecar).unwrap();
        holder.kill();
        let refused = waiter.join().unwrap().unwrap_err();
        assert!(matches!(refused, OsError::Gone(_)), "{refused}");
    });
}

#[test]
fn a_waiter_does_not_create_a_deleted_team_again() {
    let (directory, _) = LockFixture::fresh();
    let team = directory.path().join("team");
    fs::create_dir(&team).unwrap();
    let fixture = LockFixture::at(&team);
    swarm_os::create_sidecar(&fixture.sidecar).unwrap();
    let mut holder = Child::start("holds", &team);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| fixture.within(Duration::from_secs(10), |_| Ok(())));
        until_blocked_on(&fixture.sidecar, 1);
        fs::rename(&team, directory.path().join("team.deleted")).unwrap();
        holder.kill();
        let refused = waiter.join().unwrap().unwrap_err();
        assert!(matches!(refused, OsError::Gone(_)), "{refused}");
    });
    assert!(!team.exists());
}

#[test]
fn a_writer_creates_nothing_after_its_team_was_deleted() {
    let (directory, _) = LockFixture::fresh();
    let team = directory.path().join("team");
    fs::create_dir(&team).unwrap();
    let fixture = LockFixture::at(&team);
    swarm_os::create_sidecar(&fixture.sidecar).unwrap();
    let refused = fixture.within(SOON, |held| {
        fs::rename(&team, directory.path().join("team.deleted")).unwrap();
        held.replace(&fixture.data, b"x")
    });
    assert!(matches!(refused, Err(OsError::Gone(_))), "{refused:?}");
    assert!(!team.exists());
}

#[test]
fn a_writer_whose_sidecar_was_replaced_writes_nothing_after_a_second() {
    let (_directory, fixture) = LockFixture::fresh();
    fixture
        .within(SOON, |held| {
            fs::remove_file(&fixture.sidecar).unwrap();
            swarm_os::create_sidecar(&fixture.sidecar).unwrap();
            until("the sidecar checked", || {
                matches!(held.replace(&fixture.data, b"x"), Err(OsError::Gone(_)))
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_lock_directory_is_marked_while_held_and_removed_afterwards() {
    let (_directory, fixture) = LockFixture::fresh();
    fixture
        .within(SOON, |_| {
            let made = fs::metadata(&fixture.lock_dir).unwrap();
            assert_eq!(made.mode() & 0o7777, 0o1700);
            Ok(())
        })
        .unwrap();
    assert!(!fixture.lock_dir.exists());
}

#[test]
fn a_failed_or_panicking_holder_releases_the_lock() {
    let (_directory, fixture) = LockFixture::fresh();
    let failed: Result<(), OsError> =
        fixture.within(SOON, |_| Err(OsError::Gone("somewhere".into())));
    assert!(failed.is_err());
    assert!(fixture.leftovers().is_empty());

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        fixture.within(SOON, |held| {
            let second = fixture.directory.join("second.json");
            held.also(std::slice::from_ref(&second), |_| -> Result<(), OsError> {
                panic!("on purpose")
            })
        })
    }));
    assert!(panicked.is_err());
    assert!(fixture.leftovers().is_empty());
    fixture.increment(&waiting(SOON)).unwrap();
}

#[test]
fn all_files_of_a_plan_and_additional_ones_are_locked() {
    let (_directory, fixture) = LockFixture::fresh();
    let data: Vec<_> = ["1", "2", "3"]
        .map(|name| fixture.directory.join(format!("{name}.json")))
        .into();
    let plan = LockPlan {
        sidecar: &fixture.sidecar,
        data: &data[..2],
    };
    let leftovers = || {
        let mut names = fixture.leftovers();
        names.sort();
        names
    };
    with_lock(&plan, &waiting(SOON), |held| {
        assert_eq!(leftovers(), ["1.json.lock", "2.json.lock"]);
        held.also(&data[2..], |held| -> Result<(), OsError> {
            assert_eq!(leftovers(), ["1.json.lock", "2.json.lock", "3.json.lock"]);
            // Already held: neither waited for nor released twice.
            held.also(&data[..1], |_| Ok::<_, OsError>(()))
        })?;
        assert_eq!(leftovers(), ["1.json.lock", "2.json.lock"]);
        held.replace(&data[0], b"one")
    })
    .unwrap();
    assert!(leftovers().is_empty());
}

#[test]
fn locks_of_many_files_need_no_descriptor_each() {
    let (_directory, fixture) = LockFixture::fresh();
    let files: Vec<_> = (0..2000)
        .map(|number| fixture.directory.join(format!("{number}.json")))
        .collect();
    let open = || {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        let paths = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        paths
            .filter(|path| path.starts_with(&fixture.directory))
            .count()
    };
    fixture
        .within(SOON, |held| {
            held.also(&files, |held| {
                assert_eq!(fixture.leftovers().len(), files.len() + 1);
                assert_eq!(open(), 1, "the sidecar");
                held.replace(&files[1999], b"x")
            })
        })
        .unwrap();
    assert!(fixture.leftovers().is_empty());
}

#[test]
fn each_write_checks_its_own_lock_and_once_per_second_all_locks() {
    let (_directory, fixture) = LockFixture::fresh();
    let files: Vec<_> = ["a", "b"]
        .map(|name| fixture.directory.join(format!("{name}.json")))
        .into();
    fixture
        .within(SOON, |held| {
            held.also(&files, |held| {
                let began = Instant::now();
                fs::remove_dir(fixture.directory.join("b.json.lock")).unwrap();
                let refused = held.replace(&files[1], b"x");
                assert!(matches!(refused, Err(OsError::LockLost(_))), "{refused:?}");
                until("all locks checked", || {
                    matches!(held.replace(&files[0], b"x"), Err(OsError::LockLost(_)))
                });
                assert!(began.elapsed() < SOON * 2);
                Ok::<_, OsError>(())
            })
        })
        .unwrap();
}

#[test]
fn a_file_is_removed_under_the_lock_and_may_be_missing() {
    let (_directory, fixture) = LockFixture::fresh();
    for _ in 0..2 {
        fixture
            .within(SOON, |held| held.remove(&fixture.data))
            .unwrap();
        assert!(!fixture.data.exists());
    }
}

#[test]
fn only_files_of_dead_writers_are_removed_from_a_directory() {
    let (_directory, fixture) = LockFixture::fresh();
    let make = |name: &str, mode| {
        let mode = rustix::fs::Mode::from_raw_mode(mode);
        rustix::fs::mkdir(fixture.directory.join(name), mode).unwrap();
    };
    make("1.json.lock", 0o1700);
    make("2.json.lock", 0o700);
    make("3.json", 0o1700);
    fs::File::create(fixture.directory.join(".1.json.abc.swarm-tmp")).unwrap();
    let by_directory = fixture.locked(&directory_only(), |held| {
        held.remove_leftovers(&fixture.directory)
    });
    assert_eq!(
        by_directory.unwrap(),
        0,
        "directories of dead writers are not marked"
    );
    let cleared = fixture.within(SOON, |held| {
        let cleared = held.remove_leftovers(&fixture.directory)?;
        assert!(fixture.lock_dir.is_dir(), "the lock of the holder remains");
        Ok(cleared)
    });
    assert_eq!(cleared.unwrap(), 2);
    assert_eq!(
        fixture.leftovers(),
        ["2.json.lock"],
        "the lock of another program remains"
    );
    assert!(fixture.directory.join("3.json").is_dir());
    let missing = fixture.directory.join("missing");
    let gone = fixture.within(SOON, |held| held.remove_leftovers(&missing));
    assert!(matches!(gone, Err(OsError::Gone(_))), "{gone:?}");
}

#[test]
fn a_file_with_two_hard_links_is_read_and_replaced_but_not_modified() {
    let (_directory, fixture) = LockFixture::fresh();
    let victim = fixture.directory.join("victim");
    let second_name = |path: &std::path::Path| {
        fs::remove_file(path).unwrap();
        fs::hard_link(&victim, path).unwrap();
    };
    swarm_os::replace_alone(&victim, b"41").unwrap();
    second_name(&fixture.data);
    assert_eq!(fixture.increment(&waiting(SOON)).unwrap(), 42);
    assert_eq!(fs::read(&victim).unwrap(), b"41");

    second_name(&fixture.sidecar);
    let refused = fixture.increment(&waiting(SOON));
    assert!(
        matches!(refused, Err(OsError::NotOurs { .. })),
        "{refused:?}"
    );
    let appended = swarm_os::append_durable(&fixture.sidecar, b"a line");
    assert!(
        matches!(appended, Err(OsError::NotOurs { .. })),
        "{appended:?}"
    );
    let lived = swarm_os::LifeHolder::take(&fixture.sidecar, b"me");
    assert!(matches!(lived, Err(OsError::NotOurs { .. })), "{lived:?}");
    assert_eq!(fs::read(&victim).unwrap(), b"41");
}

#[test]
fn what_is_prepared_before_the_wait_belongs_to_the_locked_sidecar() {
    let (_directory, fixture) = LockFixture::fresh();
    let plan = LockPlan {
        sidecar: &fixture.sidecar,
        data: &[],
    };
    let options = LockOptions::default();
    let prepare = || fixture.increment(&options);
    let done = with_lock_after(&plan, &options, prepare, |_held, prepared| prepared);
    assert_eq!(done.unwrap(), 1, "nothing is locked yet");
    let replace = || {
        fs::remove_file(&fixture.sidecar).unwrap();
        swarm_os::create_sidecar(&fixture.sidecar).unwrap();
    };
    let refused: Result<(), OsError> =
        with_lock_after(&plan, &options, replace, |_held, ()| panic!("it is locked"));
    assert!(matches!(refused, Err(OsError::Gone(_))), "{refused:?}");
}
