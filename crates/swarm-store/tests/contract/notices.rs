//! Messages about assigned and unblocked tasks.

use swarm_protocol::{CheckRun, ControlFrame, NewTask, TaskStatus, UnixMs};
use swarm_store::{Actor, BlockOn as _, Draft, StoreLimits, TaskChange};

use crate::values::{id, name, new_task};
use crate::world::{World, owner, status};

/// A task of the member that waits for others.
fn waiting(world: &World, member: &str, blocked_by: &[u64]) {
    let new = NewTask {
        owner: Some(name(member)),
        ..new_task("part", blocked_by)
    };
    let (team, person) = (world.handle(), world.person());
    team.create_tasks(&[new], &person).block_on().unwrap();
}

pub(crate) fn what_a_change_unblocks_is_announced_once_to_its_owner_or_the_lead(world: &World) {
    world.join("alice");
    world.join("bob");
    for blocker in ["first", "second"] {
        world.create(blocker, &[]);
    }
    waiting(world, "bob", &[1]);
    world.create("free", &[1]);
    waiting(world, "bob", &[2]);
    waiting(world, "alice", &[1]);
    let alice = world.actor("alice");
    for _ in 0..2 {
        let done = status(TaskStatus::Completed);
        world.update(1, done, &alice).unwrap();
    }
    let bob = world.texts("bob");
    assert_eq!(bob.len(), 1, "{bob:?}");
    assert!(
        bob[0].starts_with("Task #3 (part) is yours and no longer blocked: start on it.\ndo it")
    );
    let lead = world.texts("team-lead");
    assert_eq!(lead.len(), 1, "{lead:?}");
    assert!(lead[0].starts_with("Task #4 (free) is no longer blocked and has no owner"));
    // Who has done it knows.
    assert!(world.unread("alice").is_empty());
    let delete = || {
        world
            .handle()
            .delete_task(&id(2), &world.person())
            .block_on()
    };
    assert!(delete().is_ok() && delete().is_err());
    assert_eq!(world.texts("bob").len(), 2);
    // So is a task that its owner gives back.
    world
        .handle()
        .claim(&id(3), &world.actor("bob"))
        .block_on()
        .unwrap();
    world
        .handle()
        .release(&id(3), &world.actor("bob"))
        .block_on()
        .unwrap();
    assert_eq!(world.texts("team-lead").len(), 2);
}

pub(crate) fn an_assignment_is_announced_unless_the_task_waits_or_is_done(world: &World) {
    world.join("bob");
    world.create("first", &[]);
    world.create("second", &[1]);
    let assign = |number| {
        world.update(number, owner("bob"), &world.person()).unwrap();
        world.unread("bob").len()
    };
    assert_eq!((assign(1), assign(1), assign(2)), (1, 1, 1));
    let frame = ControlFrame::from_text(&world.texts("bob")[0]);
    assert!(
        matches!(&frame, Some(ControlFrame::TaskAssignment(task)) if task.task_id == "1" && task.assigned_by == "team-lead"),
        "{frame:?}"
    );
    let announce = || {
        let (team, person) = (world.handle(), world.person());
        let announced = team.announce_tasks(&[id(1), id(2)], &person).block_on();
        announced.unwrap();
        world.unread("bob").len()
    };
    assert_eq!(announce(), 2);
    let done = status(TaskStatus::Completed);
    world.update(1, done, &world.actor("bob")).unwrap();
    assert_eq!(world.unread("bob").len(), 2);
    // Its own program did not complete the other one.
    world.create("third", &[]);
    let for_bob = world.actor("bob").in_name_of(&name("team-lead"));
    world.handle().claim(&id(3), &for_bob).block_on().unwrap();
    world.handle().claim(&id(3), &for_bob).block_on().unwrap();
    assert_eq!(world.unread("bob").len(), 3);
}

pub(crate) fn a_full_inbox_gets_the_news_and_an_unblocked_task_names_what_it_builds_on(
    world: &World,
) {
    world.join("bob");
    let person = world.person().forced();
    let checked = NewTask {
        checks: vec!["cargo test".to_owned()],
        ..new_task("checked", &[])
    };
    let team = world.limit(StoreLimits {
        max_unread: 1,
        ..StoreLimits::default()
    });
    team.create_tasks(&[checked], &person).block_on().unwrap();
    world.create("unchecked", &[]);
    waiting(world, "bob", &[1, 2]);
    for _ in 0..2 {
        team.send(&name("bob"), Draft::system("full"))
            .block_on()
            .unwrap();
    }
    let run = CheckRun {
        at: UnixMs(1),
        exit_code: Some(0),
        duration_ms: 1,
        output: String::new(),
    };
    let complete = |number, check_runs: Vec<CheckRun>, result: &str, by: &Actor| {
        let done = TaskChange {
            result: Some(result.to_owned()),
            check_runs,
            ..status(TaskStatus::Completed)
        };
        team.update_task(&id(number), done, by).block_on().unwrap();
    };
    complete(1, vec![run], "port 80", &person);
    complete(2, Vec::new(), "port 81", &person);
    let told = world.texts("bob").concat();
    for line in [
        "It builds on #1 (checked), verified by its checks. Its result: port 80",
        "It builds on #2 (unchecked), UNVERIFIED, it has no checks: check its result before you rely on it. Its result: port 81",
    ] {
        assert!(told.contains(line), "{told}");
    }
}
