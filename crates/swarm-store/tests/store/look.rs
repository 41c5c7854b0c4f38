//! A look at a whole team.

use std::process::Command;

use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, MemberState};
use swarm_store::blocking::TeamStore;
use swarm_store::{Draft, StoreError};

use crate::world::{World, name};

#[test]
fn a_look_tells_who_lives_what_waits_and_whether_the_records_are_behind() {
    let world = World::new();
    let (store, team) = (&world.store, &world.team);
    let spawn = world.join("alice");
    let life = world.live("alice", spawn);
    for text in ["one", "two"] {
        store
            .team(team)
            .send(&name("alice"), Draft::new("bob", text))
            .unwrap();
    }
    let seen = store.team(team).look().unwrap();
    assert_eq!(seen.config, store.team(team).config().unwrap());
    let alice = &seen.members[1];
    assert_eq!((alice.liveness, alice.unread), (Liveness::Alive, Some(2)));
    let process = alice.process.as_ref().unwrap();
    assert_eq!((process.spawn_id, process.pid), (spawn, std::process::id()));
    assert!(!seen.is_out_of_line);
    assert_eq!(store.team(team).life_record(&name("alice")), alice.process);

    drop(life);
    let seen = store.team(team).look().unwrap();
    assert!(seen.is_out_of_line && seen.members[1].process.is_none());
    store.team(team).reconcile().unwrap();
    let seen = store.team(team).look().unwrap();
    assert!(!seen.is_out_of_line);
    assert_eq!(seen.members[1].state, MemberState::Dead);
}

#[test]
fn a_process_that_lives_by_the_file_of_another_spawn_is_not_the_member() {
    let world = World::new();
    let _life = world.live("team-lead", swarm_protocol::SpawnId::random());
    let spawn = world.join("alice");
    let _other = world.live("alice", swarm_protocol::SpawnId::random());
    let seen = world.store.team(&world.team).look().unwrap();
    let alice = &seen.members[1];
    assert_eq!(alice.member.spawn_id(), Some(spawn));
    assert_eq!(alice.liveness, Liveness::Dead);
    assert!(alice.process.is_none());
    // The lead has no mark of a spawn.
    assert!(seen.members[0].process.is_some());
}

#[test]
fn an_inbox_that_is_none_hides_nobody_and_is_told() {
    let world = World::with_member("alice");
    world.join("bob");
    swarm_os::replace_alone(&world.inbox_path("alice"), b"{\"half\":").unwrap();
    let seen = world.store.team(&world.team).look().unwrap();
    let [_, alice, bob] = &seen.members[..] else {
        panic!("{seen:?}");
    };
    assert_eq!((alice.unread, bob.unread), (None, Some(0)));
    let damaged = alice.damaged_inbox.clone().unwrap();
    assert_eq!(damaged.path, world.inbox_path("alice"));
    assert_eq!(StoreError::from(damaged).kind(), ErrorKind::Damaged);
    assert!(bob.damaged_inbox.is_none());
}

#[test]
fn a_pipe_in_the_place_of_a_life_file_keeps_nobody_waiting() {
    let world = World::with_member("alice");
    let path = world.store.team(&world.team).life_path(&name("alice"));
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert_eq!(
        world.store.team(&world.team).life_record(&name("alice")),
        None
    );
    world.store.team(&world.team).look().unwrap_err();
}
