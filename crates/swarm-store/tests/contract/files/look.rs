//! The view of a team.

use std::process::Command;

use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, MemberState};
use swarm_store::{BlockOn as _, Draft, StoreError, TeamStore};

use crate::files::world::{World, name};

#[test]
fn a_view_has_liveness_unread_mail_and_whether_to_reconcile() {
    let world = World::new();
    let (store, team) = (&world.store, &world.team);
    let spawn = world.join("alice");
    let life = world.live("alice", spawn);
    for text in ["one", "two"] {
        store
            .team(team)
            .send(&name("alice"), Draft::new("bob", text))
            .block_on()
            .unwrap();
    }
    let seen = store.team(team).view().block_on().unwrap();
    assert_eq!(seen.config, store.team(team).config().block_on().unwrap());
    let alice = &seen.members[1];
    assert_eq!((alice.liveness, alice.unread), (Liveness::Alive, Some(2)));
    let process = alice.process.as_ref().unwrap();
    assert_eq!((process.spawn_id, process.pid), (spawn, std::process::id()));
    assert!(!seen.needs_reconcile);
    assert_eq!(
        store.team(team).life_record(&name("alice")).block_on(),
        alice.process
    );

    drop(life);
    let seen = store.team(team).view().block_on().unwrap();
    assert!(seen.needs_reconcile && seen.members[1].process.is_none());
    store.team(team).reconcile().block_on().unwrap();
    let seen = store.team(team).view().block_on().unwrap();
    assert!(!seen.needs_reconcile);
    assert_eq!(seen.members[1].state, MemberState::Dead);
}

#[test]
fn a_damaged_inbox_hides_no_member_and_is_reported() {
    let world = World::with_member("alice");
    world.join("bob");
    swarm_os::replace_alone(&world.inbox_path("alice"), b"{\"half\":").unwrap();
    let seen = world.handle().view().block_on().unwrap();
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
fn a_pipe_in_place_of_a_life_file_does_not_block() {
    let world = World::with_member("alice");
    let path = world.file("swarm/members/alice/life");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert_eq!(world.handle().life_record(&name("alice")).block_on(), None);
    world.handle().view().block_on().unwrap_err();
}
