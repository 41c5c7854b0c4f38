//! Reconciliation after deaths.

use std::fs;
use std::sync::Barrier;
use std::thread;

use swarm_os::Liveness;
use swarm_protocol::{Event, MemberState, SpawnId, TaskStatus, UnixMs};
use swarm_store::{Actor, BlockOn as _, ReconcileReport, TaskChange};

use crate::children::Child;
use crate::world::{World, id, name, new_member};

fn member(world: &World, called: &str, spawn: SpawnId) -> Actor {
    Actor::member(&world.team, name(called), Some(spawn))
}

fn deaths(world: &World, spawn: SpawnId) -> Vec<Event> {
    let events = world.events().into_iter();
    events
        .filter(|event| match event {
            Event::MemberDied { spawn_id, .. } | Event::MemberStopped { spawn_id, .. } => {
                *spawn_id == spawn
            }
            _ => false,
        })
        .collect()
}

#[test]
fn l6_a_killed_member_is_dead_immediately_with_one_event_and_its_tasks_released() {
    let world = World::new();
    let spawn = world.join("alice");
    let mut child = Child::start("lives", &world.root, "alice");
    child.hear_ready();
    assert_eq!(
        world.handle().reconcile().block_on().unwrap(),
        ReconcileReport::default()
    );
    assert_eq!(
        world.handle().liveness(&name("alice")).block_on().unwrap(),
        Liveness::Alive
    );
    world.create("begun", &[]);
    world.create("assigned", &[]);
    let alice = member(&world, "alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let assign = TaskChange {
        owner: Some(name("alice")),
        ..TaskChange::default()
    };
    world
        .handle()
        .update_task(&id(2), assign, &world.person())
        .block_on()
        .unwrap();
    child.kill();
    let view = &world.handle().member_view().block_on().unwrap()[1];
    assert_eq!(
        (view.state, view.liveness),
        (MemberState::Dead, Liveness::Dead)
    );

    let together = Barrier::new(8);
    let reports: Vec<ReconcileReport> = thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    world.handle().reconcile().block_on().unwrap()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let reported: Vec<_> = reports.iter().flat_map(|report| &report.died).collect();
    assert_eq!(reported.len(), 1, "one of eight tells of the death");
    assert_eq!(reported[0].released, [id(1), id(2)]);
    assert!(!reported[0].in_order);
    let events = deaths(&world, spawn);
    assert_eq!(events.len(), 1);
    assert!(matches!(&events[0], Event::MemberDied { released, .. } if released.len() == 2));

    let tasks = world.handle().tasks().block_on().unwrap().tasks;
    assert_eq!(tasks[0].swarm().attempt, 1);
    assert_eq!(tasks[1].swarm().attempt, 0, "it had not been begun");
    for task in &tasks {
        assert_eq!(
            (task.owner.as_deref(), task.status),
            (None, TaskStatus::Pending)
        );
    }
    let config = world.handle().config().block_on().unwrap();
    let mark = config
        .member(&name("alice"))
        .unwrap()
        .swarm
        .clone()
        .unwrap();
    assert!(mark.died_at.is_some());
}

fn told(world: &World) -> Vec<String> {
    let inbox = world.handle().inbox(&name("team-lead")).block_on().unwrap();
    // A lead of another program shows a message in the lead's own name as unverified.
    assert!(inbox.entries.iter().all(|entry| entry.from == "system"));
    inbox.entries.into_iter().map(|entry| entry.text).collect()
}

#[test]
fn a_death_is_reported_once_even_if_recording_it_is_interrupted() {
    let world = World::new();
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    world.create("begun", &[]);
    let alice = member(&world, "alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let directory = world.file("");
    let (config, journal) = (
        directory.join("config.json"),
        directory.join("swarm/journal.jsonl"),
    );
    let before = fs::read(&config).unwrap();

    // Simulates a kill between journal and mail: the mail cannot be written.
    let inbox = world.inbox_path("team-lead");
    fs::create_dir(&inbox).unwrap();
    world.handle().reconcile().block_on().unwrap_err();
    fs::remove_dir(&inbox).unwrap();
    let entered = fs::read(&journal).unwrap();
    assert_eq!(deaths(&world, spawn).len(), 1);
    world.handle().reconcile().block_on().unwrap();
    assert_eq!(told(&world).len(), 1);
    assert!(told(&world)[0].contains("alice died unexpectedly"));
    assert!(
        told(&world)[0].contains("Given back: #1."),
        "{:?}",
        told(&world)
    );

    // Simulates kills before the roster was written, and before the mail was in the journal.
    swarm_os::replace_alone(&config, &before).unwrap();
    world.handle().reconcile().block_on().unwrap();
    swarm_os::replace_alone(&config, &before).unwrap();
    swarm_os::replace_alone(&journal, &entered).unwrap();
    world.handle().reconcile().block_on().unwrap();
    assert_eq!(told(&world).len(), 1);
    assert_eq!(deaths(&world, spawn).len(), 1);
}

#[test]
fn a_death_that_was_half_entered_is_entered_once() {
    let world = World::new();
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    world.create("begun", &[]);
    let alice = member(&world, "alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let config = world.file("config.json");
    let before = fs::read(&config).unwrap();
    world.handle().reconcile().block_on().unwrap();
    // Simulates a kill before the roster was written.
    swarm_os::replace_alone(&config, &before).unwrap();
    let report = world.handle().reconcile().block_on().unwrap();
    assert_eq!(report.died.len(), 1);
    assert_eq!(deaths(&world, spawn).len(), 1);
    let task = world.handle().task(&id(1)).block_on().unwrap();
    assert_eq!(task.swarm().attempt, 1);
}

#[test]
fn an_expired_reservation_of_a_dead_spawner_is_rolled_back() {
    let world = World::new();
    let mut mine = new_member("mine");
    mine.reservation.deadline = UnixMs(1);
    let spawn_of_mine = mine.spawn_id;
    world.handle().reserve(mine).block_on().unwrap();
    let mut spawner = Child::start("reserves and dies", &world.root, "orphan");
    spawner.hear_ready();
    assert_eq!(world.unread("orphan").len(), 1);
    assert_eq!(
        world.handle().reconcile().block_on().unwrap(),
        ReconcileReport::default()
    );
    spawner.kill();
    let report = world.handle().reconcile().block_on().unwrap();
    assert_eq!(report.rolled_back.len(), 1);
    assert_eq!(report.rolled_back[0].member, name("orphan"));
    let names = world.handle().config().block_on().unwrap().names();
    assert_eq!(
        names,
        [name("team-lead"), name("mine")],
        "its spawner lives"
    );
    assert!(!world.inbox_path("orphan").exists());
    assert_eq!(
        world.handle().reconcile().block_on().unwrap(),
        ReconcileReport::default()
    );
    world.commit(spawn_of_mine);
}
