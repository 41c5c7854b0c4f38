//! Our own processes and threads at the lock door.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use swarm_os::{LockInterrupt, LockOptions, LockPlan, OsError, with_lock};

use crate::children::{Child, Ground, directory_only, until, until_blocked_on, waiting};

/// Far less than any lock takes to grow stale, and enough for a busy machine.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn eight_processes_lose_no_increment() {
    let (_directory, ground) = Ground::fresh();
    let children: Vec<_> = (0..8)
        .map(|_| Child::start("increments", &ground.directory))
        .collect();
    children.into_iter().for_each(Child::finish);
    assert_eq!(ground.content(), "400");
    assert!(ground.litter().is_empty());
}

#[test]
fn eight_processes_lose_no_increment_by_directories_alone() {
    let (_directory, ground) = Ground::fresh();
    let children: Vec<_> = (0..8)
        .map(|_| Child::start("increments by directory", &ground.directory))
        .collect();
    children.into_iter().for_each(Child::finish);
    assert_eq!(ground.content(), "160");
    assert!(ground.litter().is_empty());
}

#[test]
fn threads_of_one_process_exclude_each_other_too() {
    let (_directory, ground) = Ground::fresh();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    ground.increment(&LockOptions::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(ground.content(), "200");
}

#[test]
fn a_killed_holder_leaves_no_lock() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    holder.kill();
    assert!(
        ground.lock_dir.is_dir(),
        "it died with the directory in place"
    );

    let began = Instant::now();
    ground.increment(&LockOptions::default()).unwrap();
    assert!(began.elapsed() < SOON);
    assert_eq!(ground.content(), "1");
    assert!(ground.litter().is_empty());
}

#[test]
fn a_program_that_is_started_under_a_lock_inherits_nothing_of_it() {
    for options in [waiting(SOON), directory_only()] {
        let (_directory, ground) = Ground::fresh();
        // It lives until its input ends, which is when this test does.
        let mut started = ground
            .locked(&options, |_| {
                let mut command = Command::new("cat");
                let spawned = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
                Ok(spawned.unwrap())
            })
            .unwrap();
        let open = fs::read_dir(format!("/proc/{}/fd", started.id())).unwrap();
        let inherited: Vec<_> = open
            .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
            .filter(|path| path.starts_with(&ground.directory))
            .collect();
        drop(started.stdin.take());
        started.wait().unwrap();
        assert!(inherited.is_empty(), "{inherited:?}");
    }
}

#[test]
fn a_waiter_gets_the_lock_when_its_holder_is_killed() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| ground.increment(&LockOptions::default()));
        holder.kill();
        assert_eq!(waiter.join().unwrap().unwrap(), 1);
    });
}

#[test]
fn writers_killed_at_any_moment_lose_nothing_that_was_acknowledged() {
    let (_directory, ground) = Ground::fresh();
    let mut acknowledged = 0;
    for round in 0..20 {
        let mut writer = Child::start("increments until killed", &ground.directory);
        for _ in 0..=round % 4 {
            acknowledged = writer.says().parse::<u64>().unwrap();
        }
        writer.kill();
        let began = Instant::now();
        let next = ground.increment(&LockOptions::default()).unwrap();
        assert!(began.elapsed() < SOON, "the dead block nobody");
        assert!(next > acknowledged);
    }
    assert!(ground.litter().is_empty());
}

#[test]
fn the_deadline_names_the_file_and_the_holder() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    let limit = Duration::from_millis(200);
    let began = Instant::now();
    let refused = ground.within(limit, |_| Ok(())).unwrap_err();
    assert!(began.elapsed() >= limit && began.elapsed() < limit + SOON);
    assert!(matches!(refused, OsError::LockTimeout { .. }));
    let told = refused.to_string();
    assert!(told.contains(ground.sidecar.to_str().unwrap()), "{told}");
    let pid = holder.pid().as_raw_nonzero().to_string();
    assert!(told.contains(&format!("process {pid} (")), "{told}");
}

#[test]
fn a_waiter_that_gave_up_does_not_keep_the_lock_it_waited_for() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    ground
        .within(Duration::from_millis(50), |_| Ok(()))
        .unwrap_err();
    holder.go_on();
    assert_eq!(holder.says(), "Ok(())");
    ground.within(SOON, |_| Ok(())).unwrap();
}

#[test]
fn asking_twice_in_one_process_is_told_as_such() {
    let (_directory, ground) = Ground::fresh();
    let refused = ground
        .within(SOON, |_| {
            ground.within(Duration::from_millis(50), |_| Ok(()))
        })
        .unwrap_err();
    assert!(
        refused.to_string().contains("this process itself"),
        "{refused}"
    );
}

#[test]
fn a_stopped_holder_keeps_its_lock_from_ours() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    holder.signal(Signal::STOP);
    let refused = ground.within(Duration::from_millis(300), |_| Ok(()));
    assert!(matches!(refused, Err(OsError::LockTimeout { .. })));
    holder.signal(Signal::CONT);
    holder.go_on();
    assert_eq!(holder.says(), "Ok(())");
    assert_eq!(ground.content(), "late");
}

#[test]
fn without_a_sidecar_there_is_no_team() {
    let (_directory, ground) = Ground::fresh();
    fs::remove_file(&ground.sidecar).unwrap();
    for options in [LockOptions::default(), directory_only()] {
        let refused = ground.locked(&options, |_| Ok(())).unwrap_err();
        assert!(matches!(&refused, OsError::Gone { path } if *path == ground.sidecar));
    }
    assert!(!ground.sidecar.exists(), "nothing is revived");
}

#[test]
fn a_waiter_finds_out_that_the_sidecar_was_replaced() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| ground.within(Duration::from_secs(10), |_| Ok(())));
        until_blocked_on(&ground.sidecar, 1);
        fs::remove_file(&ground.sidecar).unwrap();
        swarm_os::create_sidecar(&ground.sidecar).unwrap();
        holder.kill();
        let refused = waiter.join().unwrap().unwrap_err();
        assert!(matches!(refused, OsError::Gone { .. }), "{refused}");
    });
}

#[test]
fn a_waiter_does_not_revive_a_deleted_team() {
    let (directory, _) = Ground::fresh();
    let team = directory.path().join("team");
    fs::create_dir(&team).unwrap();
    let ground = Ground::at(&team);
    swarm_os::create_sidecar(&ground.sidecar).unwrap();
    let mut holder = Child::start("holds", &team);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| ground.within(Duration::from_secs(10), |_| Ok(())));
        until_blocked_on(&ground.sidecar, 1);
        fs::rename(&team, directory.path().join("team.deleted")).unwrap();
        holder.kill();
        let refused = waiter.join().unwrap().unwrap_err();
        assert!(matches!(refused, OsError::Gone { .. }), "{refused}");
    });
    assert!(!team.exists());
}

#[test]
fn a_writer_whose_team_is_deleted_under_it_makes_nothing() {
    let (directory, _) = Ground::fresh();
    let team = directory.path().join("team");
    fs::create_dir(&team).unwrap();
    let ground = Ground::at(&team);
    swarm_os::create_sidecar(&ground.sidecar).unwrap();
    let refused = ground.within(SOON, |held| {
        fs::rename(&team, directory.path().join("team.deleted")).unwrap();
        held.replace(&ground.data, b"x")
    });
    assert!(matches!(refused, Err(OsError::Gone { .. })), "{refused:?}");
    assert!(!team.exists());
}

#[test]
fn the_lock_directory_carries_our_mark_while_held_and_is_gone_after() {
    let (_directory, ground) = Ground::fresh();
    ground
        .within(SOON, |_| {
            let made = fs::metadata(&ground.lock_dir).unwrap();
            assert_eq!(made.mode() & 0o7777, 0o1700);
            Ok(())
        })
        .unwrap();
    assert!(!ground.lock_dir.exists());
}

#[test]
fn a_failed_or_panicking_holder_lets_go() {
    let (_directory, ground) = Ground::fresh();
    let failed: Result<(), OsError> = ground.within(SOON, |_| {
        Err(OsError::Gone {
            path: "somewhere".into(),
        })
    });
    assert!(failed.is_err());
    assert!(ground.litter().is_empty());

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        ground.within(SOON, |held| {
            let second = ground.directory.join("second.json");
            held.also(std::slice::from_ref(&second), |_| -> Result<(), OsError> {
                panic!("on purpose")
            })
        })
    }));
    assert!(panicked.is_err());
    assert!(ground.litter().is_empty());
    ground.increment(&waiting(SOON)).unwrap();
}

#[test]
fn all_files_of_a_plan_are_locked_and_one_more_for_a_while() {
    let (_directory, ground) = Ground::fresh();
    let data: Vec<_> = ["1", "2", "3"]
        .map(|name| ground.directory.join(format!("{name}.json")))
        .into();
    let plan = LockPlan {
        sidecar: &ground.sidecar,
        data: &data[..2],
    };
    let litter = || {
        let mut names = ground.litter();
        names.sort();
        names
    };
    with_lock(&plan, &waiting(SOON), |held| {
        assert_eq!(litter(), ["1.json.lock", "2.json.lock"]);
        held.also(&data[2..], |held| -> Result<(), OsError> {
            assert_eq!(litter(), ["1.json.lock", "2.json.lock", "3.json.lock"]);
            // Already ours: neither waited for nor let go of twice.
            held.also(&data[..1], |_| Ok::<_, OsError>(()))
        })?;
        assert_eq!(litter(), ["1.json.lock", "2.json.lock"]);
        held.replace(&data[0], b"one")
    })
    .unwrap();
    assert!(litter().is_empty());
}

#[test]
fn the_locks_of_many_files_take_no_descriptor_each() {
    let (_directory, ground) = Ground::fresh();
    let files: Vec<_> = (0..2000)
        .map(|number| ground.directory.join(format!("{number}.json")))
        .collect();
    let open = || {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        let paths = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        paths
            .filter(|path| path.starts_with(&ground.directory))
            .count()
    };
    ground
        .within(SOON, |held| {
            held.also(&files, |held| {
                assert_eq!(ground.litter().len(), files.len() + 1);
                assert_eq!(open(), 1, "the sidecar");
                held.replace(&files[1999], b"x")
            })
        })
        .unwrap();
    assert!(ground.litter().is_empty());
}

#[test]
fn all_locks_are_looked_at_again_after_a_second_and_that_of_the_file_each_time() {
    let (_directory, ground) = Ground::fresh();
    let files: Vec<_> = ["a", "b"]
        .map(|name| ground.directory.join(format!("{name}.json")))
        .into();
    ground
        .within(SOON, |held| {
            held.also(&files, |held| {
                let began = Instant::now();
                fs::remove_dir(ground.directory.join("b.json.lock")).unwrap();
                let refused = held.replace(&files[1], b"x");
                assert!(
                    matches!(refused, Err(OsError::LockLost { .. })),
                    "{refused:?}"
                );
                until("looked at", || {
                    matches!(held.replace(&files[0], b"x"), Err(OsError::LockLost { .. }))
                });
                assert!(began.elapsed() < SOON * 2);
                Ok::<_, OsError>(())
            })
        })
        .unwrap();
}

#[test]
fn a_file_is_removed_under_the_lock_and_may_be_missing() {
    let (_directory, ground) = Ground::fresh();
    for _ in 0..2 {
        ground
            .within(SOON, |held| held.remove(&ground.data))
            .unwrap();
        assert!(!ground.data.exists());
    }
}

#[test]
fn what_the_dead_left_in_a_directory_is_cleared_and_nothing_else() {
    let (_directory, ground) = Ground::fresh();
    let make = |name: &str, mode| {
        let mode = rustix::fs::Mode::from_raw_mode(mode);
        rustix::fs::mkdir(ground.directory.join(name), mode).unwrap();
    };
    make("1.json.lock", 0o1700);
    make("2.json.lock", 0o700);
    make("3.json", 0o1700);
    fs::File::create(ground.directory.join(".1.json.abc.swarm-tmp")).unwrap();
    let by_directory = ground.locked(&directory_only(), |held| {
        held.clear_after_the_dead(&ground.directory)
    });
    assert_eq!(by_directory.unwrap(), 0, "no mark tells the dead there");
    let cleared = ground.within(SOON, |held| {
        let cleared = held.clear_after_the_dead(&ground.directory)?;
        assert!(ground.lock_dir.is_dir(), "it is the holder's own");
        Ok(cleared)
    });
    assert_eq!(cleared.unwrap(), 2);
    assert_eq!(ground.litter(), ["2.json.lock"], "it is another program's");
    assert!(ground.directory.join("3.json").is_dir());
    let missing = ground.directory.join("missing");
    let gone = ground.within(SOON, |held| held.clear_after_the_dead(&missing));
    assert!(matches!(gone, Err(OsError::Gone { .. })), "{gone:?}");
}

#[test]
fn a_file_with_a_second_name_is_read_and_replaced_but_not_written_into() {
    let (_directory, ground) = Ground::fresh();
    let victim = ground.directory.join("victim");
    let second_name = |path: &std::path::Path| {
        fs::remove_file(path).unwrap();
        fs::hard_link(&victim, path).unwrap();
    };
    swarm_os::replace_alone(&victim, b"41").unwrap();
    second_name(&ground.data);
    assert_eq!(ground.increment(&waiting(SOON)).unwrap(), 42);
    assert_eq!(fs::read(&victim).unwrap(), b"41");

    second_name(&ground.sidecar);
    let refused = ground.increment(&waiting(SOON));
    assert!(
        matches!(refused, Err(OsError::NotOurs { .. })),
        "{refused:?}"
    );
    let appended = swarm_os::append_durable(&ground.sidecar, b"a line");
    assert!(
        matches!(appended, Err(OsError::NotOurs { .. })),
        "{appended:?}"
    );
    let lived = swarm_os::LifeHolder::take(&ground.sidecar, b"me");
    assert!(matches!(lived, Err(OsError::NotOurs { .. })), "{lived:?}");
    assert_eq!(fs::read(&victim).unwrap(), b"41");
}

#[test]
fn an_interrupt_cuts_the_wait_for_a_lock_short() {
    let (_directory, ground) = Ground::fresh();
    let interrupt = LockInterrupt::default();
    let patient = LockOptions {
        interrupt: Some(interrupt.clone()),
        ..waiting(Duration::from_hours(1))
    };
    let mut holder = Child::start("holds", &ground.directory);
    assert_eq!(holder.says(), "held");
    thread::scope(|scope| {
        let ours = scope.spawn(|| ground.increment(&patient));
        until_blocked_on(&ground.sidecar, 1);
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
    // Of another program, and after the interruption.
    let (_directory, ground) = Ground::fresh();
    let theirs = ground.directory.join("inbox.json.lock");
    fs::create_dir(&theirs).unwrap();
    let refused = ground.increment(&patient);
    assert!(
        matches!(refused, Err(OsError::LockTimeout { .. })),
        "{refused:?}"
    );
    fs::remove_dir(&theirs).unwrap();
    ground.increment(&patient).unwrap();
}

#[test]
fn who_waits_for_a_lock_directory_is_told_who_took_it_last_and_when() {
    let (_directory, ground) = Ground::fresh();
    let mut holder = Child::start("holds by directory", &ground.directory);
    assert_eq!(holder.says(), "held");
    let hasty = LockOptions {
        deadline: Duration::from_millis(50),
        ..directory_only()
    };
    let refused = ground.increment(&hasty).unwrap_err().to_string();
    let pid = format!("process {}", holder.pid().as_raw_nonzero());
    for part in [&pid, "has had it for", "refreshed its lock"] {
        assert!(refused.contains(part), "{refused}");
    }
    holder.go_on();
    holder.says();
    holder.finish();
}
