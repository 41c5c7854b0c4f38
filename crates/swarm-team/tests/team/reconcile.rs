//! A death is told to the lead once, whoever notices it.

use std::io::Read as _;
use std::process::{Command, Stdio};

use swarm_protocol::{MemberState, Reservation, SpawnId, UnixMs};
use swarm_store::TeamStore;
use swarm_team::{Incoming, SpawnOrder, reconcile};

use crate::world::{World, name};

#[test]
fn an_unexpected_death_is_told_to_the_lead_once_with_the_tasks_that_came_back() {
    let world = World::new();
    let (spawn, life) = world.live("bob");
    world.report("bob", spawn, MemberState::Working);
    let bob = world.seat("bob", spawn).seat;
    world.create("paint", None, &[]);
    world
        .store
        .claim(&world.team, &crate::world::id(1), &bob.actor(&world.team))
        .unwrap();
    assert!(
        reconcile(&*world.store, &world.team)
            .unwrap()
            .died
            .is_empty()
    );
    drop(life);
    let noticed: usize = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| reconcile(&*world.store, &world.team).unwrap().died.len()))
            .collect();
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .sum()
    });
    assert_eq!(noticed, 1);
    let mail = world.mail("team-lead");
    let [Incoming::System(entry)] = &mail[..] else {
        panic!("{mail:?}");
    };
    for word in ["bob died unexpectedly", "working", "#1"] {
        assert!(entry.text.contains(word), "{}", entry.text);
    }
    assert_eq!(world.task(1).owner, None);
}

#[test]
fn an_end_in_order_is_no_news() {
    let world = World::new();
    let (spawn, life) = world.live("bob");
    world.report("bob", spawn, MemberState::Stopped);
    drop(life);
    let report = reconcile(&*world.store, &world.team).unwrap();
    assert!(report.died.len() == 1 && report.died[0].in_order);
    assert!(world.unread("team-lead").is_empty());
}

#[test]
fn several_deaths_are_several_messages() {
    let world = World::new();
    for member in ["alice", "bob"] {
        drop(world.live(member).1);
    }
    reconcile(&*world.store, &world.team).unwrap();
    let texts = world.read("team-lead");
    assert_eq!(texts.len(), 2);
    assert!(
        texts[0].contains("alice") && texts[1].contains("bob"),
        "{texts:?}"
    );
}

/// A place in the roster whose spawner has died and whose time is over.
fn lapse(world: &World, spawn_id: SpawnId) {
    let dead = Reservation {
        spawner_pid: u32::MAX,
        spawner_start: "1".to_owned(),
        deadline: UnixMs(1),
    };
    world.reserve_as("bob", spawn_id, dead);
}

#[test]
fn what_a_spawner_that_died_had_started_is_ended() {
    let world = World::new();
    let spawn_id = SpawnId::random();
    lapse(&world, spawn_id);
    let mut begun = Command::new("sh")
        .args(["-c", "echo; exec sleep 600"])
        .env("SWARM_SPAWN_ID", spawn_id.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0];
    begun.stdout.take().unwrap().read_exact(&mut ready).unwrap();
    let report = reconcile(&*world.store, &world.team).unwrap();
    assert_eq!(report.rolled_back.len(), 1);
    let ended = begun.try_wait().unwrap();
    begun.kill().unwrap();
    begun.wait().unwrap();
    assert!(ended.is_some(), "it was left to nobody");
}

#[test]
fn the_order_of_a_spawn_whose_spawner_died_is_removed_with_its_keys() {
    let world = World::new();
    let spawn_id = SpawnId::random();
    lapse(&world, spawn_id);
    let folder = world.store.member_dir(&world.team, &name("bob"));
    let order = folder.join(SpawnOrder::file_name(spawn_id));
    std::fs::write(&order, "keys").unwrap();
    let report = reconcile(&*world.store, &world.team).unwrap();
    assert_eq!(report.rolled_back.len(), 1);
    assert!(!order.exists());
}
