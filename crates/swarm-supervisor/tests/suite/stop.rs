//! Stopping members: their answers, their exit and what remains.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use swarm_os::{Liveness, LockOptions};
use swarm_protocol::{ErrorKind, Event, LifeKind, LifeRecord, MemberState, SpawnId, SystemClock};
use swarm_store::{BlockOn as _, Draft, FileStore, StoreError};
use swarm_team::SpawnOrder;

use swarm_supervisor::await_reported_end;
use swarm_supervisor::{LeadError, StopOptions, StopOutcome, end_team, kill, shutdown};
use swarm_testkit::Child;
use swarm_testkit::{Answer, World, name, team, until};

fn options() -> StopOptions {
    StopOptions {
        reason: Some("all is done".to_owned()),
        by: "person",
        timeout: Duration::from_secs(20),
        force: false,
        at_once: false,
    }
}

fn at_once() -> StopOptions {
    StopOptions {
        timeout: Duration::from_millis(50),
        ..options()
    }
}

fn by_force() -> StopOptions {
    StopOptions {
        force: true,
        ..options()
    }
}

#[tokio::test]
async fn approved_shutdown_releases_tasks() {
    let world = World::new();
    let spawn = world.join("bob");
    let task = world.task_of("bob", spawn);
    let bob = world.play("bob", spawn, Answer::Approve);
    let leaves = std::thread::spawn(move || drop(bob.join().unwrap()));
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &options())
        .await
        .unwrap();
    leaves.join().unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Approved);
    assert_eq!(stopped.released, [task]);
    assert!(!world.has("bob"));
    assert_eq!(world.stops(), ["approved"]);
    let free = world.store.team(&team()).task(&task).block_on().unwrap();
    assert_eq!((free.owner.as_deref(), free.swarm().attempt), (None, 0));
}

#[tokio::test]
async fn refused_shutdown_keeps_the_member_running() {
    let world = World::new();
    let spawn = world.join("bob");
    let task = world.task_of("bob", spawn);
    let bob = world.play("bob", spawn, Answer::Refuse);
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &options())
        .await
        .unwrap();
    let reason = "tests run".to_owned();
    assert_eq!(stopped.outcome, StopOutcome::Refused { reason });
    let _life = bob.join().unwrap();
    assert!(world.has("bob") && world.stops().is_empty());
    let held = world.store.team(&team()).task(&task).block_on().unwrap();
    assert_eq!(held.owner.as_deref(), Some("bob"));
    assert_eq!(
        world
            .store
            .team(&team())
            .liveness(&name("bob"))
            .block_on()
            .unwrap(),
        Liveness::Alive
    );
}

#[tokio::test]
async fn refusal_already_read_by_the_lead_counts() {
    let world = World::new();
    let spawn = world.join("bob");
    let bob = world.play("bob", spawn, Answer::Refuse);
    let reader = {
        let store = world.store.clone();
        std::thread::spawn(move || {
            let lead = swarm_protocol::MemberName::lead();
            swarm_testkit::wait_for("the refusal", || {
                let unread = store.team(&team()).take_unread(&lead).block_on().unwrap();
                let ids: Vec<_> = unread
                    .into_iter()
                    .filter_map(|entry| entry.msg_id)
                    .collect();
                (!store
                    .team(&team())
                    .ack(&lead, &ids)
                    .block_on()
                    .unwrap()
                    .is_empty())
                .then_some(())
            });
        })
    };
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &options()).await;
    reader.join().unwrap();
    let outcome = stopped.unwrap().outcome;
    assert!(
        matches!(outcome, StopOutcome::Refused { .. }),
        "{outcome:?}"
    );
    drop(bob.join().unwrap());
}

#[tokio::test]
async fn refusal_is_ignored_with_force() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let mut child = Child::start(&world.spawn_context.root, "bob", spawn);
    let store = world.store.clone();
    // The test sends the agent's answer; the process is another one.
    let refusal = std::thread::spawn(move || {
        let request =
            swarm_testkit::wait_for("a shutdown request", || swarm_testkit::asked(&store, "bob"));
        let frame = Answer::Refuse.frame("bob", &request);
        let lead = swarm_protocol::MemberName::lead();
        store
            .team(&team())
            .send(&lead, Draft::control("bob", &frame))
            .block_on()
            .unwrap();
    });
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &by_force())
        .await
        .unwrap();
    refusal.join().unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Terminated);
    assert!(!world.has("bob"));
    until("the end of the process", || child.has_ended().then_some(())).await;
}

#[tokio::test]
async fn l1_unresponsive_member_is_terminated_at_the_deadline() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let mut child = Child::start(&world.spawn_context.root, "bob", spawn);
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &at_once())
        .await
        .unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Terminated);
    assert_eq!(world.stops(), ["terminated"]);
    assert!(!world.has("bob"));
    until("the end of the process", || child.has_ended().then_some(())).await;
}

#[tokio::test]
async fn l5_process_that_ignores_sigterm_is_killed() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let mut child = Child::stubborn(&world.spawn_context.root, "bob", spawn);
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &at_once())
        .await
        .unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Killed);
    until("the end of the process", || child.has_ended().then_some(())).await;
    let spawn = world.join("bob");
    let mut child = Child::stubborn(&world.spawn_context.root, "bob", spawn);
    let stopped = kill(&world.spawn_context, &team(), &name("bob"))
        .await
        .unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Killed);
    assert!(!world.has("bob"));
    until("the end of the process", || child.has_ended().then_some(())).await;
}

#[tokio::test]
async fn l5_frozen_member_with_a_lock_is_terminated_without_delay() {
    for lock in ["inbox", "roster"] {
        let mut world = World::on_files();
        // A process that waits for this lock times out.
        let patient = LockOptions {
            deadline: Duration::from_hours(1),
            ..LockOptions::default()
        };
        let store = FileStore::new(world.spawn_context.root.clone(), Arc::new(SystemClock));
        world.spawn_context.store = Arc::new(store.with_lock_options(patient));
        let (alice, bob) = (world.join("alice"), world.join("bob"));
        let mut frozen = Child::frozen_with(lock, &world.spawn_context.root, "bob", bob);
        let _alice = Child::start(&world.spawn_context.root, "alice", alice);
        let ended = end_team(&world.spawn_context, &team(), &at_once())
            .await
            .unwrap();
        assert!(ended.failed.is_empty(), "{lock}: {:?}", ended.failed);
        assert!(!world.has("alice") && !world.has("bob"), "{lock}");
        until("the end of the process", || {
            frozen.has_ended().then_some(())
        })
        .await;
        if lock == "inbox" {
            let inbox = world.file("inboxes/bob.json");
            let text = std::fs::read_to_string(inbox).unwrap_or_default();
            assert!(
                !text.contains("shutdown_request"),
                "sent to the dead: {text}"
            );
        }
    }
}

#[tokio::test]
async fn member_with_unwritable_inbox_is_stopped_only_with_force() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let mut child = Child::start(&world.spawn_context.root, "bob", spawn);
    let inbox = world.file("inboxes/bob.json");
    drop(std::fs::remove_file(&inbox));
    swarm_os::create_private_dir(&inbox).unwrap();
    let (dep, team, bob) = (&world.spawn_context, team(), name("bob"));
    let error = shutdown(dep, &team, &bob, &options()).await.unwrap_err();
    assert!(error.to_string().contains("bob.json"), "{error}");
    assert!(world.has("bob") && !child.has_ended());
    let stopped = shutdown(dep, &team, &bob, &by_force()).await.unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Terminated);
    assert!(!world.has("bob"));
    until("the end of the process", || child.has_ended().then_some(())).await;
}

#[tokio::test]
async fn dead_member_is_only_removed_from_the_roster() {
    let world = World::new();
    let spawn = world.join("bob");
    drop(world.live("bob", spawn));
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &options())
        .await
        .unwrap();
    assert_eq!(stopped.outcome, StopOutcome::AlreadyGone);
    assert!(!world.has("bob"));
    let asked = |event: &Event| matches!(event, Event::ShutdownRequested { .. });
    assert!(!world.journal().iter().any(asked));
}

#[tokio::test]
async fn exited_member_is_not_reported_as_killed() {
    let world = World::new();
    let spawn = world.join("bob");
    drop(world.live("bob", spawn));
    swarm_team::reconcile(&world.store.team(&team())).unwrap();
    let stopped = kill(&world.spawn_context, &team(), &name("bob"))
        .await
        .unwrap();
    assert_eq!(stopped.outcome, StopOutcome::AlreadyGone);
    assert!(!world.has("bob"));
}

#[tokio::test]
async fn member_of_another_machine_is_not_killed() {
    let world = World::new();
    let spawn = world.join("bob");
    let record = LifeRecord {
        kind: LifeKind::Process,
        pid: 1,
        proc_start: String::new(),
        spawn_id: spawn,
        host: "build".to_owned(),
        pid_space: "build#pid:[1]".to_owned(),
        confined: false,
        off_loopback: false,
    };
    let files = world.store.team(&team());
    let life = files.take_life(&name("bob"), &record).await.unwrap();
    let error = kill(&world.spawn_context, &team(), &name("bob"))
        .await
        .unwrap_err();
    let said = "bob runs on build: run `swarm kill bob` there, or `swarm shutdown bob` here";
    assert_eq!(error.to_string(), said);
    assert!(world.has("bob"));
    let asked = |event: &Event| matches!(event, Event::ShutdownRequested { .. });
    assert!(!world.journal().iter().any(asked));
    drop(life);
}

#[tokio::test]
async fn stop_waits_for_the_lock_of_a_stopping_member() {
    let world = World::new();
    let spawn = world.join("bob");
    let life = world.live("bob", spawn);
    let liveness = || {
        world
            .store
            .team(&team())
            .liveness(&name("bob"))
            .block_on()
            .unwrap()
    };
    world.report("bob", spawn, MemberState::Working);
    await_reported_end(&world.spawn_context, &team(), &name("bob"))
        .await
        .unwrap();
    assert_eq!(
        liveness(),
        Liveness::Alive,
        "a living one is not waited for"
    );
    world.report("bob", spawn, MemberState::Dead);
    let falls = std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_millis(100));
        drop(life);
    });
    await_reported_end(&world.spawn_context, &team(), &name("bob"))
        .await
        .unwrap();
    assert_eq!(liveness(), Liveness::Dead);
    falls.join().unwrap();
}

#[tokio::test]
async fn member_removed_by_another_process_counts_as_stopped() {
    let world = World::new();
    let spawn = world.join("bob");
    let bob = world.play("bob", spawn, Answer::Approve);
    let team_of_bob = world.store.team(&team());
    let ends = std::thread::spawn(move || {
        let life = bob.join().unwrap();
        let removed = team_of_bob
            .remove_member(&name("bob"), Some(&spawn))
            .block_on();
        assert!(removed.unwrap().is_some());
        drop(life);
    });
    let stopped = shutdown(&world.spawn_context, &team(), &name("bob"), &options()).await;
    ends.join().unwrap();
    assert_eq!(stopped.unwrap().outcome, StopOutcome::Approved);
}

#[tokio::test]
async fn stop_does_not_wait_for_a_member_that_left_the_roster() {
    let world = Arc::new(World::new());
    let leaves = {
        let world = Arc::clone(&world);
        std::thread::spawn(move || {
            for _ in 0..100 {
                let spawn = world.join("bob");
                world.report("bob", spawn, MemberState::Dead);
                let removed = world
                    .store
                    .team(&team())
                    .remove_member(&name("bob"), Some(&spawn))
                    .block_on();
                assert!(removed.unwrap().is_some());
            }
        })
    };
    while !leaves.is_finished() {
        await_reported_end(&world.spawn_context, &team(), &name("bob"))
            .await
            .unwrap();
    }
    leaves.join().unwrap();
}

#[tokio::test]
async fn death_is_recorded_once() {
    let world = World::new();
    let spawn = world.join("bob");
    drop(world.live("bob", spawn));
    swarm_team::reconcile(&world.store.team(&team())).unwrap();
    shutdown(&world.spawn_context, &team(), &name("bob"), &options())
        .await
        .unwrap();
    let died = |event: &Event| matches!(event, Event::MemberDied { .. });
    assert_eq!(
        world.journal().iter().filter(|event| died(event)).count(),
        1
    );
    assert!(world.stops().is_empty());
}

#[tokio::test]
async fn leads_and_members_of_other_programs_are_not_stopped() {
    let world = World::on_files();
    world.join("bob");
    let end = async |member: &str| {
        shutdown(&world.spawn_context, &team(), &name(member), &options())
            .await
            .unwrap_err()
    };
    for member in ["alice", "team-lead"] {
        let error = end(member).await;
        let LeadError::Store(StoreError::MemberNotFound { known, .. }) = &error else {
            panic!("{error}");
        };
        assert!(known.contains(&name("bob")));
    }
    FileStore::new(world.spawn_context.root.clone(), Arc::new(SystemClock))
        .update_config(&team(), |config| {
            config.member_mut(&name("bob")).unwrap().swarm = None;
            Ok(())
        })
        .unwrap();
    // Its process is not known, so it is asked, and its answer awaited.
    let short = StopOptions {
        timeout: Duration::from_millis(20),
        ..options()
    };
    let bob = name("bob");
    let error = shutdown(&world.spawn_context, &team(), &bob, &short)
        .await
        .unwrap_err();
    assert!(matches!(error, LeadError::Foreign(_)), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(world.has("bob"));
}

#[tokio::test]
async fn member_that_cannot_be_terminated_stays_in_the_roster() {
    let world = World::new();
    let spawn = world.join("bob");
    // Held by a process without the mark.
    let _life = world.live("bob", spawn);
    let error = shutdown(&world.spawn_context, &team(), &name("bob"), &at_once())
        .await
        .unwrap_err();
    assert!(matches!(error, LeadError::StillAlive { .. }), "{error}");
    assert!(world.has("bob") && world.stops().is_empty());
}

#[tokio::test]
async fn concurrent_stops_record_one_exit() {
    let world = World::new();
    let spawn = world.join("bob");
    let task = world.task_of("bob", spawn);
    let bob = world.play("bob", spawn, Answer::Approve);
    let leaves = std::thread::spawn(move || drop(bob.join().unwrap()));
    let (dep, team, bob) = (&world.spawn_context, team(), name("bob"));
    let (one, other) = (options(), options());
    let ended = tokio::join!(
        shutdown(dep, &team, &bob, &one),
        shutdown(dep, &team, &bob, &other),
    );
    leaves.join().unwrap();
    let mut released = Vec::new();
    for stopped in [ended.0, ended.1] {
        match stopped {
            Ok(stopped) => released.extend(stopped.released),
            Err(LeadError::Store(StoreError::MemberNotFound { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(released, [task]);
    // The other stop may find the member gone before this one has recorded its answer.
    assert_eq!(world.stops().len(), 1, "{:?}", world.stops());
}

#[tokio::test]
async fn spawn_stopped_in_progress_is_rolled_back() {
    let world = World::new();
    let spawn = world.reserve("bob", Some("run the tests"));
    let directory = world.store.team(&team()).local_directory(&name("bob"));
    let order = directory.join(SpawnOrder::file_name(spawn));
    swarm_os::replace_alone(&order, b"keys").unwrap();
    kill(&world.spawn_context, &team(), &name("bob"))
        .await
        .unwrap();
    assert!(!world.has("bob") && !order.exists());
    assert!(world.stops().is_empty());
    let aborted = |event: &Event| matches!(event, Event::SpawnAborted { .. });
    assert!(world.journal().iter().any(aborted));
    world.reserve("bob", None);
    assert_eq!(world.unread("bob"), 0, "the prompt went with its spawn");
}

/// Starts a shell with the mark of a spawn and waits for the first output of its script.
fn marked(world: &World, spawn: SpawnId, script: &str, args: &[&Path]) -> std::process::Child {
    let mut child = Command::new("sh")
        .args(["-c", script, "sh"])
        .args(args)
        .env("SWARM_SPAWN_ID", spawn.to_string())
        .env("CLAUDE_CONFIG_DIR", &world.spawn_context.root)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0];
    child.stdout.take().unwrap().read_exact(&mut ready).unwrap();
    child
}

#[tokio::test]
async fn roster_entry_is_removed_before_the_spawn_is_terminated() {
    let mut world = World::on_files();
    world.spawn_context.kill_grace = Duration::from_mins(1);
    let spawn = world.reserve("bob", None);
    let seen = world.path().join("seen");
    let roster = world.file("config.json");
    // Waiting callers receive the last value it saw.
    let script = "trap 'cp \"$1\" \"$2\"; exit' TERM; echo; sleep 30 & wait";
    let mut child = marked(&world, spawn, script, &[&roster, &seen]);
    shutdown(&world.spawn_context, &team(), &name("bob"), &options())
        .await
        .unwrap();
    child.wait().unwrap();
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(!seen.contains(&spawn.to_string()), "{seen}");
}

#[tokio::test]
async fn team_stops_in_parallel_and_reports_failures() {
    let world = World::on_files();
    let (alice, bob, carol) = (world.join("alice"), world.join("bob"), world.join("carol"));
    let player = world.play("alice", alice, Answer::Approve);
    let leaves = std::thread::spawn(move || drop(player.join().unwrap()));
    let _unmarked = world.live("bob", bob);
    world.report("bob", bob, MemberState::Idle);
    let _child = Child::start(&world.spawn_context.root, "carol", carol);
    let options = StopOptions {
        timeout: Duration::from_secs(5),
        ..by_force()
    };
    let ended = end_team(&world.spawn_context, &team(), &options)
        .await
        .unwrap();
    leaves.join().unwrap();
    let outcomes: Vec<_> = ended
        .stopped
        .iter()
        .map(|stopped| (stopped.member.as_str(), stopped.outcome.word()))
        .collect();
    assert_eq!(outcomes, [("alice", "approved"), ("carol", "terminated")]);
    assert_eq!(ended.failed.len(), 1);
    assert_eq!(ended.failed[0].0, name("bob"));
}

#[test]
fn stop_timeout_exceeds_the_members_own_deadline() {
    let world = World::without_team();
    let dep = &world.spawn_context;
    assert!(dep.shutdown_patience() > dep.limits.shutdown_grace());
}

#[tokio::test]
async fn reconcile_does_not_block_the_runtime() {
    let world = World::new();
    let spawn = world.join("bob");
    drop(world.live("bob", spawn));
    // It survives SIGTERM, so a failing test would wait for it.
    let script = "trap '' TERM; echo; i=0; while [ $i -lt 30 ]; do sleep 1; i=$((i+1)); done";
    let mut left = marked(&world, spawn, script, &[]);
    let (store, crew) = (&world.spawn_context.store, team());
    let files = store.team(&crew);
    let looking = swarm_supervisor::reconcile_team(&files);
    tokio::pin!(looking);
    tokio::select! {
        biased;
        _ = &mut looking => panic!("it waits on the thread that everything else needs"),
        () = tokio::time::sleep(Duration::from_millis(20)) => {}
    }
    assert_eq!(looking.await.unwrap().died.len(), 1);
    assert_eq!(left.wait().unwrap().code(), None, "it was killed");
}
