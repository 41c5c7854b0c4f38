//! Processes that are terminated because they do not exit by themselves.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use swarm_os::LockOptions;
use swarm_protocol::{MemberState, SpawnId, SystemClock};
use swarm_store::FileStore;
use swarm_supervisor::{LeadError, StopOptions, StopOutcome};
use swarm_testkit::{Answer, Child, World, name, team};

use crate::stop::{at_once, by_force, exited, kill_bob, options, shut_down};

#[tokio::test]
async fn l1_unresponsive_member_is_terminated_at_the_deadline() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let mut child = Child::start(&world.spawn_context.root, "bob", spawn);
    let stopped = shut_down(&world, &at_once()).await.unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Terminated);
    assert_eq!(world.stops(), ["terminated"]);
    assert!(!world.has("bob"));
    exited(&mut child).await;
}

#[tokio::test]
async fn l5_process_that_ignores_sigterm_is_killed() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let mut child = Child::stubborn(&world.spawn_context.root, "bob", spawn);
    let stopped = shut_down(&world, &at_once()).await.unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Killed);
    exited(&mut child).await;
    let spawn = world.join("bob");
    let mut child = Child::stubborn(&world.spawn_context.root, "bob", spawn);
    let stopped = kill_bob(&world).await.unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Killed);
    assert!(!world.has("bob"));
    exited(&mut child).await;
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
        let team = team();
        let ended = world.spawn_context.team(&team).shutdown(&at_once()).await;
        let ended = ended.unwrap();
        assert!(ended.failed.is_empty(), "{lock}: {:?}", ended.failed);
        assert!(!world.has("alice") && !world.has("bob"), "{lock}");
        exited(&mut frozen).await;
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
    let (team, bob) = (team(), name("bob"));
    let bob = world.spawn_context.team(&team).member(&bob);
    let error = bob.shutdown(&options()).await.unwrap_err();
    assert!(error.to_string().contains("bob.json"), "{error}");
    assert!(world.has("bob") && !child.has_ended());
    let stopped = bob.shutdown(&by_force()).await.unwrap();
    assert_eq!(stopped.outcome, StopOutcome::Terminated);
    assert!(!world.has("bob"));
    exited(&mut child).await;
}

#[tokio::test]
async fn member_that_cannot_be_terminated_stays_in_the_roster() {
    let (world, spawn) = World::with_member("bob");
    // Held by a process without the mark.
    let _life = world.live("bob", spawn);
    let error = shut_down(&world, &at_once()).await.unwrap_err();
    assert!(matches!(error, LeadError::StillAlive { .. }), "{error}");
    assert!(world.has("bob") && world.stops().is_empty());
}

#[tokio::test]
async fn member_whose_process_is_gone_has_a_moment_to_release_its_lock() {
    let (world, spawn) = World::with_member("bob");
    let life = world.live("bob", spawn);
    let mut killed = std::pin::pin!(kill_bob(&world));
    let early = tokio::time::timeout(Duration::from_millis(300), &mut killed).await;
    assert!(
        early.is_err(),
        "reported while the lock was held: {early:?}"
    );
    drop(life);
    killed.await.unwrap();
    assert!(!world.has("bob"));
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
    shut_down(&world, &options()).await.unwrap();
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
    let team = team();
    let ended = world.spawn_context.team(&team).shutdown(&options).await;
    let ended = ended.unwrap();
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

#[tokio::test]
async fn reconcile_does_not_block_the_runtime() {
    let (world, spawn) = World::with_member("bob");
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
