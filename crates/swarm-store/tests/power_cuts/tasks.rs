//! The task list.

use std::fs;

use serde_json::{Value, json};
use swarm_protocol::{NewTask, TaskStatus};
use swarm_store::{BlockOn as _, TaskChange, TeamStore as _};

use crate::files::{World, id, name, new_task};
use crate::replay;

#[test]
fn a_completed_task_survives_a_power_cut_with_the_notice_of_what_it_unblocked() {
    let world = World::with_member("ann");
    let (files, person) = (world.store.team(&world.team), world.person());
    let waiting = NewTask {
        owner: Some(name("ann")),
        ..new_task("rest", &[1])
    };
    let new = [new_task("part", &[]), waiting];
    files.create_tasks(&new, &person).block_on().unwrap();
    let done = TaskChange::from(TaskStatus::Completed);
    replay(
        &world,
        || {
            files.update_task(&id(1), done, &person).block_on().unwrap();
        },
        |store| {
            let team = store.team(&world.team);
            team.reconcile().block_on().unwrap();
            let task = team.task(&id(1)).block_on().unwrap();
            assert_eq!(task.subject, "part");
            let is_done = task.status == TaskStatus::Completed;
            let unread = team.take_unread(&name("ann")).block_on().unwrap();
            assert_eq!(unread.len(), usize::from(is_done), "{task:?}");
            is_done
        },
    );
}

#[test]
fn an_edge_is_in_both_tasks_after_a_power_cut_or_in_neither() {
    let world = World::new();
    world.create("first", &[]);
    world.create("second", &[]);
    let change = TaskChange {
        add_blocked_by: vec![id(1)],
        ..TaskChange::default()
    };
    replay(
        &world,
        || {
            let (team, person) = (world.handle(), world.person());
            team.update_task(&id(2), change, &person)
                .block_on()
                .unwrap();
        },
        |store| {
            let list = store.team(&world.team).tasks().block_on().unwrap();
            let is_done = list.tasks[0].blocks == [id(2)];
            assert_eq!(list.tasks[1].blocked_by == [id(1)], is_done, "{list:?}");
            is_done
        },
    );
}

#[test]
fn an_interrupted_change_that_was_completed_does_not_recreate_a_deleted_task_after_a_power_cut() {
    let world = World::new();
    for number in [1, 2] {
        world.create("part", &[]);
        assert!(world.task_path(number).is_file());
    }
    let writes = [1, 2].map(|number| {
        let text = fs::read(world.task_path(number)).unwrap();
        let after: Value = serde_json::from_slice(&text).unwrap();
        json!({"id": number.to_string(), "before": null, "after": after})
    });
    let redo = json!({"writes": writes}).to_string();
    swarm_os::replace_alone(&world.file("swarm/tasks.redo.json"), redo.as_bytes()).unwrap();
    replay(
        &world,
        || {
            let (team, person) = (world.handle(), world.person());
            team.delete_task(&id(1), &person).block_on().unwrap();
        },
        |store| {
            let list = store.team(&world.team).tasks().block_on().unwrap();
            let ids: Vec<_> = list.tasks.iter().map(|task| task.id).collect();
            assert!(ids.ends_with(&[id(2)]), "{ids:?}");
            ids.len() == 1
        },
    );
}

#[test]
fn a_task_of_a_list_that_was_deleted_by_hand_survives_a_power_cut() {
    let world = World::new();
    fs::remove_dir_all(world.tasks()).unwrap();
    replay(
        &world,
        || assert_eq!(world.create("part", &[]), id(1)),
        |store| {
            let list = store.team(&world.team).tasks().block_on().unwrap();
            list.tasks.len() == 1
        },
    );
}

#[test]
fn the_number_of_a_deleted_task_of_another_program_is_not_used_again_after_a_power_cut() {
    let world = World::new();
    let task = json!({"id": "8", "subject": "s", "description": "d", "status": "pending",
        "blocks": [], "blockedBy": []});
    swarm_os::replace_alone(&world.task_path(8), task.to_string().as_bytes()).unwrap();
    let (team, person) = (world.handle(), world.person());
    replay(
        &world,
        || drop(team.delete_task(&id(8), &person).block_on().unwrap()),
        |store| {
            let team = store.team(&world.team);
            let is_done = team.tasks().block_on().unwrap().tasks.is_empty();
            let new = [new_task("part", &[])];
            let created = team.create_tasks(&new, &person).block_on().unwrap();
            assert_eq!(created, [id(9)]);
            is_done
        },
    );
}

#[test]
fn an_interrupted_change_is_completed_before_its_note_is_removed() {
    let world = World::new();
    for _ in [1, 2] {
        world.create("part", &[]);
    }
    let task = |number| fs::read_to_string(world.task_path(number)).unwrap();
    let edge = |number: u64, key: &str, other: &str| {
        let mut after: Value = serde_json::from_str(&task(number)).unwrap();
        after[key] = json!([other]);
        json!({"id": number.to_string(), "before": task(number), "after": after})
    };
    let redo = json!({"writes": [edge(1, "blocks", "2"), edge(2, "blockedBy", "1")]}).to_string();
    swarm_os::replace_alone(&world.file("swarm/tasks.redo.json"), redo.as_bytes()).unwrap();
    replay(
        &world,
        || assert_eq!(world.create("next", &[]), id(3)),
        |store| {
            let team = store.team(&world.team);
            let is_done = team.tasks().block_on().unwrap().tasks.len() == 3;
            // Whatever takes the list's lock completes the change.
            team.announce_tasks(&[], &world.person())
                .block_on()
                .unwrap();
            let list = team.tasks().block_on().unwrap();
            assert_eq!(list.tasks[0].blocks, [id(2)], "{list:?}");
            assert_eq!(list.tasks[1].blocked_by, [id(1)], "{list:?}");
            is_done
        },
    );
}

#[test]
fn a_task_that_was_created_with_others_stays_deleted_after_a_power_cut() {
    let world = World::new();
    let (team, person) = (world.handle(), world.person());
    let new = [new_task("part", &[]), new_task("part", &[])];
    replay(
        &world,
        || {
            team.create_tasks(&new, &person).block_on().unwrap();
            team.delete_task(&id(1), &person).block_on().unwrap();
        },
        |store| {
            let team = store.team(&world.team);
            team.announce_tasks(&[], &person).block_on().unwrap();
            let list = team.tasks().block_on().unwrap();
            let ids: Vec<_> = list.tasks.iter().map(|task| task.id).collect();
            assert_ne!(ids, [id(1)], "created together");
            ids == [id(2)]
        },
    );
}

#[test]
fn the_number_of_a_created_task_is_not_used_again_after_a_power_cut() {
    let world = World::new();
    let new = [new_task("part", &[])];
    replay(
        &world,
        || assert_eq!(world.create("part", &[]), id(1)),
        |store| {
            let (team, person) = (store.team(&world.team), world.person());
            let is_done = team.tasks().block_on().unwrap().tasks.len() == 1;
            if is_done {
                team.delete_task(&id(1), &person).block_on().unwrap();
                let created = team.create_tasks(&new, &person).block_on().unwrap();
                assert_eq!(created, [id(2)]);
            }
            is_done
        },
    );
}

#[test]
fn a_notice_that_its_receiver_has_deleted_is_not_sent_again_after_a_power_cut() {
    for is_another_left in [false, true] {
        let world = World::with_member("ann");
        world.join("bob");
        let (team, person) = (world.handle(), world.person());
        let waiting = |owner: &str| NewTask {
            owner: Some(name(owner)),
            ..new_task("rest", &[1])
        };
        let new = [new_task("part", &[]), waiting("ann"), waiting("bob")];
        team.create_tasks(&new, &person).block_on().unwrap();
        let inbox = world.inbox_path("bob");
        if is_another_left {
            swarm_os::create_private_dir(&inbox).unwrap();
        }
        let done = TaskChange::from(TaskStatus::Completed);
        replay(
            &world,
            || {
                team.update_task(&id(1), done, &person).block_on().unwrap();
                assert_eq!(world.texts("ann").len(), 1);
                assert_eq!(
                    team.undelivered().block_on().len(),
                    usize::from(is_another_left)
                );
                swarm_os::replace_alone(&world.inbox_path("ann"), b"[]").unwrap();
            },
            |store| {
                let team = store.team(&world.team);
                team.announce_tasks(&[], &person).block_on().unwrap();
                let task = team.task(&id(1)).block_on().unwrap();
                let unread = team.take_unread(&name("ann")).block_on().unwrap();
                task.status == TaskStatus::Completed && unread.is_empty()
            },
        );
    }
}
