//! Stopping members: their answers, their exit and what remains.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, Event, LifeKind, LifeRecord, MemberState, SystemClock};
use swarm_store::{BlockOn as _, Draft, FileStore, StoppedSpawn, StoreError};
use swarm_supervisor::{LeadError, StopOptions, StopOutcome, StopReport};
use swarm_team::SpawnOrder;
use swarm_testkit::{Answer, Child, World, name, team, until};

pub(crate) fn options() -> StopOptions {
    StopOptions {
        reason: Some("all is done".to_owned()),
        by: "person",
        timeout: Duration::from_secs(20),
        force: false,
        at_once: false,
    }
}

pub(crate) fn at_once() -> StopOptions {
    StopOptions {
        timeout: Duration::from_millis(50),
        ..options()
    }
}

pub(crate) fn by_force() -> StopOptions {
    StopOptions {
        force: true,
        ..options()
    }
}

/// Shuts bob down.
pub(crate) async fn shut_down(
    world: &World,
    options: &StopOptions,
) -> Result<StopReport, LeadError> {
    let team = team();
    let team = world.spawn_context.team(&team);
    team.member(&name("bob")).shutdown(options).await
}

pub(crate) async fn kill_bob(world: &World) -> Result<StopReport, LeadError> {
    let team = team();
    let team = world.spawn_context.team(&team);
    team.member(&name("bob")).kill().await
}

async fn reported_end(world: &World) {
    let team = team();
    let team = world.spawn_context.team(&team);
    let bob = name("bob");
    team.member(&bob).await_reported_end().await.unwrap();
}

fn liveness(world: &World) -> Liveness {
    let team = world.store.team(&team());
    team.liveness(&name("bob")).block_on().unwrap()
}

/// Waits for the end of a process.
pub(crate) async fn exited(child: &mut Child) {
    until("the end of the process", || child.has_ended().then_some(())).await;
}

#[tokio::test]
async fn approved_shutdown_releases_tasks() {
    let (world, spawn) = World::with_member("bob");
    let task = world.task_of("bob", spawn);
    let bob = world.play("bob", spawn, Answer::Approve);
    let leaves = std::thread::spawn(move || drop(bob.join().unwrap()));
    let stopped = shut_down(&world, &options()).await.unwrap();
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
    let (world, spawn) = World::with_member("bob");
    let task = world.task_of("bob", spawn);
    let bob = world.play("bob", spawn, Answer::Refuse);
    let stopped = shut_down(&world, &options()).await.unwrap();
    let reason = "tests run".to_owned();
    assert_eq!(stopped.outcome, StopOutcome::Refused { reason });
    let _life = bob.join().unwrap();
    assert!(world.has("bob") && world.stops().is_empty());
    let held = world.store.team(&team()).task(&task).block_on().unwrap();
    assert_eq!(held.owner.as_deref(), Some("bob"));
    assert_eq!(liveness(&world), Liveness::Alive);
}

#[tokio::test]
async fn refusal_already_read_by_the_lead_counts() {
    let (world, spawn) = World::with_member("bob");
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
    let stopped = shut_down(&world, &options()).await;
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
    let stopped = shut_down(&world, &by_force()).await.unwrap();
    refusal.join().unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Terminated);
    assert!(!world.has("bob"));
    exited(&mut child).await;
}

#[tokio::test]
async fn dead_member_is_only_removed_from_the_roster() {
    let (world, spawn) = World::with_member("bob");
    drop(world.live("bob", spawn));
    let stopped = shut_down(&world, &options()).await.unwrap();
    assert_eq!(stopped.outcome, StopOutcome::AlreadyGone);
    assert!(!world.has("bob"));
    let asked = |event: &Event| matches!(event, Event::ShutdownRequested { .. });
    assert!(!world.journal().iter().any(asked));
}

#[tokio::test]
async fn exited_member_is_not_reported_as_killed() {
    let (world, spawn) = World::with_member("bob");
    drop(world.live("bob", spawn));
    swarm_team::reconcile(&world.store.team(&team())).unwrap();
    let stopped = kill_bob(&world).await.unwrap();
    assert_eq!(stopped.outcome, StopOutcome::AlreadyGone);
    assert!(!world.has("bob"));
}

#[tokio::test]
async fn member_of_another_machine_is_neither_killed_nor_terminated() {
    let (world, spawn) = World::with_member("bob");
    let record = LifeRecord {
        host: "build".to_owned(),
        pid_space: "build#pid:[1]".to_owned(),
        ..LifeRecord::new(LifeKind::Process, 1, "", spawn)
    };
    let files = world.store.team(&team());
    let life = files.take_life(&name("bob"), &record).await.unwrap();
    let error = kill_bob(&world).await.unwrap_err();
    let said = "bob runs on build: run `swarm kill bob` there, or `swarm shutdown bob` here";
    assert_eq!(error.to_string(), said);
    assert!(world.has("bob"));
    let asked = |event: &Event| matches!(event, Event::ShutdownRequested { .. });
    assert!(!world.journal().iter().any(asked));
    let error = shut_down(&world, &at_once()).await.unwrap_err();
    let said = "bob runs on build and has not stopped yet; it was asked to, and `swarm kill bob` there \
                stops it immediately";
    assert_eq!(error.to_string(), said);
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(world.has("bob"));
    drop(life);
}

#[tokio::test]
async fn stop_waits_for_the_lock_of_a_stopping_member() {
    let (world, spawn) = World::with_member("bob");
    let life = world.live("bob", spawn);
    world.report("bob", spawn, MemberState::Working);
    reported_end(&world).await;
    assert_eq!(
        liveness(&world),
        Liveness::Alive,
        "a living one is not waited for"
    );
    world.report("bob", spawn, MemberState::Dead);
    let falls = std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_millis(100));
        drop(life);
    });
    reported_end(&world).await;
    assert_eq!(liveness(&world), Liveness::Dead);
    falls.join().unwrap();
}

#[tokio::test]
async fn member_removed_by_another_process_counts_as_stopped() {
    let (world, spawn) = World::with_member("bob");
    let bob = world.play("bob", spawn, Answer::Approve);
    let team_of_bob = world.store.team(&team());
    let ends = std::thread::spawn(move || {
        let life = bob.join().unwrap();
        let removed = team_of_bob
            .remove_member(&name("bob"), Some(&StoppedSpawn::new(spawn, "killed")))
            .block_on();
        assert!(removed.unwrap().is_some());
        drop(life);
    });
    let stopped = shut_down(&world, &options()).await;
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
                    .remove_member(&name("bob"), Some(&StoppedSpawn::new(spawn, "killed")))
                    .block_on();
                assert!(removed.unwrap().is_some());
            }
        })
    };
    while !leaves.is_finished() {
        reported_end(&world).await;
    }
    leaves.join().unwrap();
}

#[tokio::test]
async fn death_is_recorded_once() {
    let (world, spawn) = World::with_member("bob");
    drop(world.live("bob", spawn));
    swarm_team::reconcile(&world.store.team(&team())).unwrap();
    shut_down(&world, &options()).await.unwrap();
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
    let team_name = team();
    let supervised = world.spawn_context.team(&team_name);
    let end = async |member: &str| {
        let member = name(member);
        let member = supervised.member(&member);
        member.shutdown(&options()).await.unwrap_err()
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
    let asked = supervised.member(&bob).shutdown(&short).await;
    let error = asked.unwrap_err();
    assert!(matches!(error, LeadError::Foreign(_)), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(world.has("bob"));
}

#[tokio::test]
async fn concurrent_stops_record_one_exit() {
    let (world, spawn) = World::with_member("bob");
    let task = world.task_of("bob", spawn);
    let bob = world.play("bob", spawn, Answer::Approve);
    let leaves = std::thread::spawn(move || drop(bob.join().unwrap()));
    let (team, bob) = (team(), name("bob"));
    let bob = world.spawn_context.team(&team).member(&bob);
    let (one, other) = (options(), options());
    let ended = tokio::join!(bob.shutdown(&one), bob.shutdown(&other));
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
    kill_bob(&world).await.unwrap();
    assert!(!world.has("bob") && !order.exists());
    assert!(world.stops().is_empty());
    let aborted = |event: &Event| matches!(event, Event::SpawnAborted { .. });
    assert!(world.journal().iter().any(aborted));
    world.reserve("bob", None);
    assert_eq!(world.unread("bob"), 0, "the prompt went with its spawn");
}

#[test]
fn stop_timeout_exceeds_the_members_own_deadline() {
    let world = World::without_team();
    let dep = &world.spawn_context;
    assert!(dep.shutdown_patience() > dep.limits.shutdown_grace());
}
