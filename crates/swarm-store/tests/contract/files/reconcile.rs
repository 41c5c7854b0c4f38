//! Reconciliation after deaths.

use std::fs;

use swarm_os::Liveness;
use swarm_protocol::{MemberState, SpawnId};
use swarm_store::{Actor, BlockOn as _, ReconcileReport};

use crate::files::children::Child;
use crate::files::world::{World, id, name};
use crate::values::deaths;

fn member(world: &World, called: &str, spawn: SpawnId) -> Actor {
    Actor::member(&world.team, name(called), Some(spawn))
}

#[test]
fn l6_a_killed_member_is_dead_immediately() {
    let world = World::new();
    let spawn = world.join("alice");
    let mut child = Child::start("lives", &world.root, "alice");
    child.hear_ready();
    let team = world.handle();
    let nothing = team.reconcile().block_on().unwrap();
    assert_eq!(nothing, ReconcileReport::default());
    let alive = team.liveness(&name("alice")).block_on().unwrap();
    assert_eq!(alive, Liveness::Alive);
    child.kill();
    let view = &team.member_view().block_on().unwrap()[1];
    assert_eq!(
        (view.state, view.liveness),
        (MemberState::Dead, Liveness::Dead)
    );
    let died = team.reconcile().block_on().unwrap().died;
    assert!(matches!(&died[..], [gone] if gone.spawn_id == spawn && !gone.in_order));
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
    assert_eq!(deaths(world.events(), spawn).len(), 1);
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
    assert_eq!(deaths(world.events(), spawn).len(), 1);
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
    assert_eq!(deaths(world.events(), spawn).len(), 1);
    let task = world.handle().task(&id(1)).block_on().unwrap();
    assert_eq!(task.swarm().attempt, 1);
}
