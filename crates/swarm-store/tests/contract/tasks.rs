//! The task list.

use std::thread;

use serde_json::{Map, Value, json};
use swarm_protocol::{ErrorKind, Event, NewTask, TaskState, TaskStatus};
use swarm_store::{Actor, BlockOn as _, StoreError, TaskChange};

use crate::rebuild::tasks_in_journal;
use crate::values::{id, name, new_task};
use crate::world::{World, status};

pub(crate) fn t6_the_journal_alone_gives_the_whole_list_again(world: &World) {
    world.join("alice");
    let mut first = new_task("first", &[]);
    first.metadata = json!({"k": "v", "gone": 1}).as_object().cloned();
    first.active_form = Some("firsting".to_owned());
    let mut second = new_task("second", &[]);
    second.after = vec![0];
    second.owner = Some(name("alice"));
    let person = world.person();
    let new = [first, second, new_task("third", &[1])];
    world
        .handle()
        .create_tasks(&new, &person)
        .block_on()
        .unwrap();
    world.create("late", &[2, 3]);
    world
        .handle()
        .claim(&id(1), &world.actor("alice"))
        .block_on()
        .unwrap();
    let change = TaskChange {
        description: Some("in other words".to_owned()),
        add_blocks: vec![id(4)],
        metadata: json!({"gone": null, "new": [1]}).as_object().cloned(),
        ..TaskChange::default()
    };
    world.update(1, change, &world.person()).unwrap();
    let done = TaskChange {
        result: Some("all of it".to_owned()),
        ..status(TaskStatus::Completed)
    };
    world.update(1, done, &world.actor("alice")).unwrap();
    world
        .handle()
        .delete_task(&id(3), &person)
        .block_on()
        .unwrap();
    world
        .handle()
        .claim(&id(2), &world.actor("alice"))
        .block_on()
        .unwrap();
    world.handle().release(&id(2), &person).block_on().unwrap();
    let events = world.handle().events().block_on().unwrap().entries;
    let list = world.handle().tasks().block_on().unwrap().tasks;
    assert_eq!(list.len(), 3);
    assert_eq!(list[1].blocked_by, [id(1)]);
    assert_eq!(tasks_in_journal(&events), list);
}

pub(crate) fn one_bad_task_among_many_makes_none(world: &World) {
    world.create("there", &[]);
    let before = world.content();
    let good = new_task("good", &[1]);
    let mut reserved = new_task("reserved", &[]);
    reserved.metadata = Some(Map::from_iter([("swarm".to_owned(), json!({}))]));
    for (bad, kind) in [
        (new_task("unknown blocker", &[99]), ErrorKind::NotFound),
        (new_task("waits for itself", &[3]), ErrorKind::Conflict),
        (reserved, ErrorKind::Usage),
    ] {
        let new = [good.clone(), bad, good.clone()];
        let error = world
            .handle()
            .create_tasks(&new, &world.person())
            .block_on()
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(world.content(), before);
    }
    let circle = [new_task("a", &[3]), new_task("b", &[2])];
    let error = world
        .handle()
        .create_tasks(&circle, &world.person())
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::Cycle(_)), "{error}");
    assert_eq!(world.content(), before);
}

pub(crate) fn deleting_a_task_takes_its_edges_along_and_unblocks(world: &World) {
    world.create("a", &[]);
    world.create("b", &[1]);
    world.create("c", &[2]);
    let unblocked = world
        .handle()
        .delete_task(&id(1), &world.person())
        .block_on()
        .unwrap();
    assert_eq!(unblocked.len(), 1);
    let list = world.handle().tasks().block_on().unwrap();
    assert_eq!(list.tasks.len(), 2);
    assert!(list.tasks[0].blocked_by.is_empty());
    assert_eq!(list.tasks[1].blocked_by, [id(2)]);
    let error = world.handle().task(&id(1)).block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub(crate) fn metadata_is_merged_and_ours_is_not_for_sale(world: &World) {
    world.create("work", &[]);
    let person = world.person();
    let set = |metadata: Value| TaskChange {
        metadata: metadata.as_object().cloned(),
        ..TaskChange::default()
    };
    world
        .update(1, set(json!({"a": 1, "b": 2})), &person)
        .unwrap();
    let merged = world
        .update(1, set(json!({"a": null, "c": 3})), &person)
        .unwrap();
    assert_eq!(merged.changed_fields, ["metadata"]);
    let mut metadata = merged.task.metadata.unwrap();
    assert_eq!(metadata.remove("swarm").unwrap()["version"], 2);
    assert_eq!(Value::from(metadata), json!({"b": 2, "c": 3}));
    let error = world
        .update(1, set(json!({"swarm": {}})), &person)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let before = world.content();
    let nothing = world.update(1, set(json!({"b": 2})), &person).unwrap();
    assert!(nothing.changed_fields.is_empty());
    assert_eq!(
        world.content(),
        before,
        "what changes nothing writes nothing"
    );
}

pub(crate) fn every_change_of_state_is_in_the_journal(world: &World) {
    use TaskState::{Completed, InProgress, Pending};
    world.create("work", &[]);
    let alice = world.actor("alice");
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    world.handle().release(&id(1), &alice).block_on().unwrap();
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    world
        .update(1, status(TaskStatus::Completed), &alice)
        .unwrap();
    world
        .handle()
        .delete_task(&id(1), &alice)
        .block_on()
        .unwrap();
    let events = world.events();
    let steps: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TaskChanged {
                from, to, owner, ..
            } => Some((*from, *to, owner.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(
        steps,
        [
            (Pending, InProgress, Some("alice")),
            (InProgress, Pending, None),
            (Pending, InProgress, Some("alice")),
            (InProgress, Completed, Some("alice")),
        ]
    );
    assert!(matches!(events.last(), Some(Event::TaskDeleted { .. })));
}

pub(crate) fn a_task_with_checks_is_completed_only_by_passed_runs_of_all_of_them(world: &World) {
    use swarm_protocol::{CheckRun, UnixMs};

    world.join("bob");
    let team = world.handle();
    let new = swarm_protocol::NewTask {
        checks: vec!["one".to_owned(), "two".to_owned()],
        ..new_task("build", &[])
    };
    let id = team
        .create_tasks(&[new], &Actor::person(&world.team))
        .block_on()
        .unwrap()[0];
    let by = Actor::member(&world.team, name("bob"), None);
    let ran = |exit_code| CheckRun {
        at: UnixMs(1),
        exit_code,
        duration_ms: 5,
        output: "out".to_owned(),
    };
    let complete = |check_runs| {
        let change = TaskChange {
            check_runs,
            ..status(TaskStatus::Completed)
        };
        team.update_task(&id, change, &by).block_on()
    };
    for runs in [
        Vec::new(),
        vec![ran(Some(0))],
        vec![ran(Some(0)), ran(Some(1))],
        vec![ran(Some(0)), ran(None)],
    ] {
        let refused = complete(runs);
        assert!(matches!(refused, Err(StoreError::Unchecked(_))));
        assert_eq!(
            team.task(&id).block_on().unwrap().status,
            TaskStatus::Pending
        );
    }
    let deleted = team.delete_task(&id, &by).block_on();
    assert!(matches!(deleted, Err(StoreError::ChecksOfOther { .. })));
    let failed = TaskChange {
        check_runs: vec![ran(Some(0)), ran(Some(1))],
        ..TaskChange::default()
    };
    team.update_task(&id, failed, &by).block_on().unwrap();
    let checks = team.task(&id).block_on().unwrap().checks();
    assert_eq!(
        [checks[0].has_passed(), checks[1].has_passed()],
        [true, false]
    );
    assert_eq!(checks[0].by, "person");
    complete(vec![ran(Some(0)), ran(Some(0))]).unwrap();
    assert_eq!(
        team.task(&id).block_on().unwrap().status,
        TaskStatus::Completed
    );
}

pub(crate) fn a_long_list_is_made_in_one_call_and_waits_for_tasks_that_were_there(world: &World) {
    world.create("first", &[]);
    let mut new = long_chain(600);
    new[599].blocked_by = vec![id(1)];
    let ids = world
        .handle()
        .create_tasks(&new, &world.person())
        .block_on()
        .unwrap();
    assert_eq!((ids[0], ids[599]), (id(2), id(601)));
    let list = world.handle().tasks().block_on().unwrap();
    assert_eq!((list.tasks.len(), list.broken.len()), (601, 0));
    assert_eq!(list.tasks[0].blocks, [id(601)]);
    assert_eq!(list.tasks[600].blocked_by, [id(1), id(600)]);
    assert_eq!(list.tasks[1].blocks, [id(3)]);
}

pub(crate) fn numbers_are_given_once(world: &World) {
    world.create("one", &[]);
    world.create("two", &[]);
    let person = world.person();
    world
        .handle()
        .delete_task(&id(2), &person)
        .block_on()
        .unwrap();
    assert_eq!(world.create("three", &[]), id(3));
    let made: Vec<_> = thread::scope(|scope| {
        let makers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let new = [new_task("a", &[]), new_task("b", &[1])];
                    let made = world
                        .handle()
                        .create_tasks(&new, &world.person())
                        .block_on();
                    made.unwrap()
                })
            })
            .collect();
        let made = makers.into_iter().map(|maker| maker.join().unwrap());
        made.collect()
    });
    for pair in &made {
        assert_eq!(pair[0].number() + 1, pair[1].number(), "{made:?}");
    }
    let mut all: Vec<_> = made.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (4..12).map(id).collect::<Vec<_>>());
    let list = world.handle().tasks().block_on().unwrap();
    assert_eq!(list.tasks[0].blocks.len(), 4);
    let events = world.handle().events().block_on().unwrap().entries;
    assert_eq!(tasks_in_journal(&events), list.tasks);
}

/// Tasks of which each waits for the previous one.
pub(crate) fn long_chain(count: usize) -> Vec<NewTask> {
    let task = |place: usize| NewTask {
        after: place.checked_sub(1).into_iter().collect(),
        ..new_task(&format!("part {place}"), &[])
    };
    (0..count).map(task).collect()
}
