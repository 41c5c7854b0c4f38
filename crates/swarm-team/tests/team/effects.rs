//! Notices about tasks.

use swarm_protocol::TaskStatus;
use swarm_store::{Actor, BlockOn as _, Draft, StoreError, StoreLimits, TaskChange};
use swarm_team::{announce_assignment, announce_unblocked};

use crate::world::{World, id, name, now};

#[test]
fn a_failed_notice_to_one_owner_does_not_affect_the_others() {
    let world = World::with_limits(StoreLimits {
        max_unread: 1,
        ..StoreLimits::default()
    });
    world.join("alice");
    world.join("bob");
    world.create("first", Some("alice"), &[]);
    world.create("second", Some("bob"), &[]);
    // Full even for messages of the program.
    for _ in 0..2 {
        let full = Draft::system("first");
        world.files().send(&name("alice"), full).block_on().unwrap();
    }
    let tasks = [world.task(1), world.task(2)];
    let told = announce_unblocked(&*world.files(), &tasks, &name("team-lead")).block_on();
    assert!(
        matches!(told, Err(StoreError::InboxFull { .. })),
        "{told:?}"
    );
    assert_eq!(world.unread("bob").len(), 1);
}

#[test]
fn a_finished_task_causes_no_notice() {
    let world = World::new();
    world.join("bob");
    world.create("paint", Some("bob"), &[]);
    let tell = || {
        let (task, lead) = (world.task(1), name("team-lead"));
        announce_assignment(&*world.files(), &task, &lead, now())
            .block_on()
            .unwrap();
        world.unread("bob").len()
    };
    assert_eq!(tell(), 1);
    let done = TaskChange {
        status: Some(TaskStatus::Completed),
        ..TaskChange::default()
    };
    let person = Actor::person(&world.team).forced();
    world
        .files()
        .update_task(&id(1), done, &person)
        .block_on()
        .unwrap();
    assert_eq!(tell(), 1);
}
