//! Notices about tasks.

use swarm_protocol::{CheckRun, NewTask, TaskStatus};
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

#[test]
fn an_unblocked_task_names_the_results_it_builds_on_and_whether_they_are_verified() {
    let world = World::new();
    world.join("alice");
    let person = Actor::person(&world.team).forced();
    let checked = NewTask {
        subject: "checked".to_owned(),
        checks: vec!["cargo test".to_owned()],
        ..NewTask::default()
    };
    let files = world.files();
    files.create_tasks(&[checked], &person).block_on().unwrap();
    world.create("unchecked", None, &[]);
    world.create("next", Some("alice"), &[1, 2]);
    let run = |exit_code| CheckRun {
        at: now(),
        exit_code: Some(exit_code),
        duration_ms: 1,
        output: String::new(),
    };
    let complete = |number, check_runs: Vec<CheckRun>, result: &str| {
        let done = TaskChange {
            status: Some(TaskStatus::Completed),
            result: Some(result.to_owned()),
            check_runs,
            ..TaskChange::default()
        };
        let id = id(number);
        let updated = files.update_task(&id, done, &person).block_on();
        updated.unwrap().unblocked
    };
    complete(1, vec![run(0)], "port 80");
    let freed = complete(2, Vec::new(), "port 81");
    announce_unblocked(&*world.files(), &freed, &name("team-lead"))
        .block_on()
        .unwrap();
    let told = world.read("alice").concat();
    for line in [
        "It builds on #1 (checked), verified by its checks. Its result: port 80",
        "It builds on #2 (unchecked), UNVERIFIED, it has no checks: check its result before you rely on it. Its result: port 81",
    ] {
        assert!(told.contains(line), "{told}");
    }
}
