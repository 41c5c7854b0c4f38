//! The task list.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use swarm_protocol::{ErrorKind, Event, NewTask, SpawnId, TaskState, TaskStatus};
use swarm_store::{
    Actor, BlockOn as _, StatusChange, StoreError, TaskChange, TaskUpdated, TeamStore,
};

use crate::rebuild::tasks_in_journal;
use crate::world::{World, id, name, new_task};

fn status(status: TaskStatus) -> TaskChange {
    TaskChange {
        status: Some(status),
        ..TaskChange::default()
    }
}

fn owner(member: &str) -> TaskChange {
    TaskChange {
        owner: Some(name(member)),
        ..TaskChange::default()
    }
}

fn update(
    world: &World,
    number: u64,
    change: TaskChange,
    by: &Actor,
) -> Result<TaskUpdated, StoreError> {
    world
        .handle()
        .update_task(&id(number), change, by)
        .block_on()
}

#[test]
fn tasks_are_made_in_claude_codes_form_with_both_ends_of_each_edge() {
    let world = World::new();
    let mut second = new_task("second", &[1, 1]);
    second.active_form = Some("seconding".to_owned());
    second.owner = Some(name("bob"));
    second.metadata = Some(Map::from_iter([("k".to_owned(), json!("v"))]));
    let ids = world
        .handle()
        .create_tasks(&[new_task("first", &[]), second], &world.person())
        .block_on()
        .unwrap();
    assert_eq!(ids, [id(1), id(2)]);
    world.create("third", &[1, 2]);
    let read = |number| -> Value {
        let text = fs::read_to_string(world.task_path(number)).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        assert_eq!(text, serde_json::to_string_pretty(&value).unwrap());
        value
    };
    assert_eq!(
        read(1),
        json!({"id": "1", "subject": "first", "description": "do it", "status": "pending",
            "blocks": ["2", "3"], "blockedBy": [], "metadata": read(1)["metadata"]})
    );
    assert_eq!(
        read(2),
        json!({"id": "2", "subject": "second", "description": "do it", "activeForm": "seconding",
            "owner": "bob", "status": "pending", "blocks": ["3"], "blockedBy": ["1"],
            "metadata": read(2)["metadata"]})
    );
    assert_eq!(read(2)["metadata"]["k"], "v");
    assert_eq!(
        fs::read_to_string(world.root.join("tasks/crew/.highwatermark")).unwrap(),
        "3"
    );
    let made = world.events().into_iter();
    let made = made.filter(|event| matches!(event, Event::TaskCreated { .. }));
    assert_eq!(made.count(), 3);
}

#[test]
fn t6_the_journal_alone_gives_the_whole_list_again() {
    let world = World::with_member("alice");
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
    update(&world, 1, change, &world.person()).unwrap();
    let done = TaskChange {
        result: Some("all of it".to_owned()),
        ..status(TaskStatus::Completed)
    };
    update(&world, 1, done, &world.actor("alice")).unwrap();
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

#[test]
fn one_bad_task_among_many_makes_none() {
    let world = World::new();
    world.create("there", &[]);
    let before = world.files();
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
        assert_eq!(world.files(), before);
    }
    let circle = [new_task("a", &[3]), new_task("b", &[2])];
    let error = world
        .handle()
        .create_tasks(&circle, &world.person())
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::Cycle { .. }), "{error}");
    assert_eq!(world.files(), before);
}

#[test]
fn numbers_are_never_used_again() {
    let world = World::new();
    let person = world.person();
    world.create("one", &[]);
    world.create("two", &[]);
    world
        .handle()
        .delete_task(&id(2), &person)
        .block_on()
        .unwrap();
    assert_eq!(world.create("three", &[]), id(3));
    // Nor after the directory was cleared by hand, or another program used higher numbers.
    fs::remove_file(world.task_path(3)).unwrap();
    assert_eq!(world.create("four", &[]), id(4));
    swarm_os::replace_alone(&world.task_path(40), b"not a task").unwrap();
    assert_eq!(world.create("forty-one", &[]), id(41));
    // A damaged mark is moved aside, and the number is read from the journal.
    for number in [40, 41] {
        fs::remove_file(world.task_path(number)).unwrap();
    }
    let mark = world.root.join("tasks/crew/.highwatermark");
    swarm_os::replace_alone(&mark, b"many").unwrap();
    assert_eq!(world.create("forty-two", &[]), id(42));
    assert!(
        world
            .events()
            .iter()
            .any(|event| matches!(event, Event::FileDamaged { .. }))
    );
}

#[test]
fn t2_a_blocked_task_can_neither_be_begun_nor_completed() {
    let world = World::new();
    world.create("first", &[]);
    world.create("second", &[1]);
    let alice = world.actor("alice");
    let before = world.files();
    for outcome in [
        world.handle().claim(&id(2), &alice).block_on().map(drop),
        update(&world, 2, status(TaskStatus::InProgress), &alice).map(drop),
        update(&world, 2, status(TaskStatus::Completed), &alice).map(drop),
        update(
            &world,
            2,
            status(TaskStatus::Completed),
            &world.person().forced(),
        )
        .map(drop),
    ] {
        let error = outcome.unwrap_err();
        assert!(matches!(&error, StoreError::Blocked { by, .. } if *by == [id(1)]));
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    assert_eq!(world.files(), before);
    // Also if the blocker is created in the same call.
    world.create("third", &[]);
    let mut change = status(TaskStatus::InProgress);
    change.add_blocked_by = vec![id(1)];
    let error = update(&world, 3, change, &alice).unwrap_err();
    assert!(matches!(error, StoreError::Blocked { .. }));
    let third = world.handle().task(&id(3)).block_on().unwrap();
    assert!(third.blocked_by.is_empty());
}

#[test]
fn t3_completing_the_last_blocker_names_what_it_unblocked_once() {
    let world = World::new();
    world.create("a", &[]);
    world.create("b", &[]);
    world.create("of bob", &[1, 2]);
    world.create("of nobody", &[2]);
    world.create("later", &[3]);
    let person = world.person();
    update(&world, 3, owner("bob"), &person).unwrap();
    let done = update(&world, 1, status(TaskStatus::Completed), &person).unwrap();
    assert!(done.unblocked.is_empty());
    assert_eq!(
        done.status_change,
        Some(StatusChange {
            from: TaskState::Pending,
            to: TaskState::Completed
        })
    );
    let done = update(&world, 2, status(TaskStatus::Completed), &person).unwrap();
    let unblocked: Vec<_> = done.unblocked.iter().map(|task| task.id).collect();
    assert_eq!(unblocked, [id(3), id(4)]);
    assert_eq!(done.unblocked[0].owner.as_deref(), Some("bob"));
    let again = update(&world, 2, status(TaskStatus::Completed), &person).unwrap();
    assert!(again.unblocked.is_empty());
    assert_eq!((again.status_change, again.changed_fields), (None, vec![]));
}

#[test]
fn deleting_a_task_takes_its_edges_along_and_unblocks() {
    let world = World::new();
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

#[test]
fn t1_a_rejected_claim_names_the_owner() {
    let world = World::new();
    world.create("work", &[]);
    let alice = world.actor("alice");
    let task = world.handle().claim(&id(1), &alice).block_on().unwrap();
    let mark = task.swarm();
    assert_eq!(mark.claimed_by, Some(alice.agent_id.clone()));
    assert!(mark.claimed_at.is_some());
    assert_eq!((mark.version, task.status), (1, TaskStatus::InProgress));
    let before = world.files();
    assert_eq!(
        world.handle().claim(&id(1), &alice).block_on().unwrap(),
        task
    );
    let bob = world.actor("bob");
    let error = world.handle().claim(&id(1), &bob).block_on().unwrap_err();
    assert!(matches!(&error, StoreError::Taken { owner, .. } if owner == "alice"));
    let error = update(&world, 1, status(TaskStatus::InProgress), &bob).unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }));
    assert_eq!(world.files(), before);
    assert_eq!(world.handle().claim_next(&bob).block_on().unwrap(), None);
}

#[test]
fn a_later_spawn_of_the_same_name_is_a_different_actor() {
    let world = World::new();
    world.create("work", &[]);
    let first = world.join("alice");
    let first = Actor::member(&world.team, name("alice"), Some(first));
    world.handle().claim(&id(1), &first).block_on().unwrap();
    // As if the roster had a new spawn and the task was not released yet.
    let second = SpawnId::random();
    world
        .store
        .update_config(&world.team, |config| {
            let member = config.member_mut(&name("alice")).unwrap();
            member.swarm.as_mut().unwrap().spawn_id = second;
            Ok(())
        })
        .unwrap();
    let second = Actor::member(&world.team, name("alice"), Some(second));
    let error = update(&world, 1, status(TaskStatus::Completed), &second).unwrap_err();
    assert!(matches!(error, StoreError::NotYours { .. }), "{error}");
    let error = world
        .handle()
        .claim(&id(1), &second)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }), "{error}");
}

#[test]
fn completing_anothers_task_is_a_conflict_unless_a_person_insists() {
    let world = World::new();
    for subject in ["one", "two"] {
        world.create(subject, &[]);
    }
    let alice = world.actor("alice");
    for number in [1, 2] {
        world
            .handle()
            .claim(&id(number), &alice)
            .block_on()
            .unwrap();
    }
    let lead = world.actor("team-lead");
    for by in [
        world.actor("bob"),
        world.person(),
        lead.clone(),
        lead.forced(),
    ] {
        let error = update(&world, 1, status(TaskStatus::Completed), &by).unwrap_err();
        assert!(matches!(&error, StoreError::NotYours { owner, .. } if owner == "alice"));
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    let mut change = status(TaskStatus::Completed);
    change.result = Some("done by hand".to_owned());
    let done = update(&world, 1, change, &world.person().forced()).unwrap();
    assert_eq!(done.task.owner.as_deref(), Some("alice"));
    assert_eq!(done.task.swarm().result.as_deref(), Some("done by hand"));
    let mut change = status(TaskStatus::Completed);
    change.result = Some("42".to_owned());
    let done = update(&world, 2, change, &alice).unwrap();
    assert_eq!(done.changed_fields, ["status", "result"]);
}

#[test]
fn who_is_in_charge_assigns_anew_and_fences_the_old_owner() {
    let world = World::new();
    world.create("work", &[]);
    let alice = world.actor("alice");
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let error = update(&world, 1, owner("bob"), &world.actor("bob")).unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }));
    let moved = update(&world, 1, owner("bob"), &world.actor("team-lead")).unwrap();
    assert_eq!(moved.task.status, TaskStatus::Pending);
    assert_eq!(moved.task.swarm().claimed_by, None);
    let error = update(&world, 1, status(TaskStatus::Completed), &alice).unwrap_err();
    assert!(matches!(error, StoreError::NotYours { .. }));
    let error = world
        .handle()
        .release(&id(1), &alice)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::NotYours { .. }));
    let bob = world.actor("bob");
    world.handle().claim(&id(1), &bob).block_on().unwrap();
    update(&world, 1, status(TaskStatus::Completed), &bob).unwrap();
    let error = update(&world, 1, owner("alice"), &world.person()).unwrap_err();
    assert!(
        matches!(error, StoreError::TaskResolved { .. }),
        "a finished task is not assigned"
    );
    let error = world.handle().release(&id(1), &bob).block_on().unwrap_err();
    assert!(matches!(error, StoreError::TaskResolved { .. }));
    let reopened = update(&world, 1, status(TaskStatus::Pending), &bob).unwrap();
    assert_eq!(reopened.task.owner.as_deref(), Some("bob"));
}

#[test]
fn claim_next_prefers_own_tasks_to_tasks_without_owner() {
    let world = World::new();
    world.create("free", &[]);
    world.create("of bob", &[]);
    world.create("blocked", &[1]);
    world.create("of alice", &[]);
    let person = world.person();
    update(&world, 2, owner("bob"), &person).unwrap();
    update(&world, 4, owner("alice"), &person).unwrap();
    let alice = world.actor("alice");
    let next = || {
        let claimed = world.handle().claim_next(&alice).block_on().unwrap();
        claimed.map(|task| task.id.number())
    };
    assert_eq!(next(), Some(4));
    assert_eq!(next(), Some(1));
    assert_eq!(next(), None);
}

#[test]
fn metadata_is_merged_and_ours_is_not_for_sale() {
    let world = World::new();
    world.create("work", &[]);
    let person = world.person();
    let set = |metadata: Value| TaskChange {
        metadata: metadata.as_object().cloned(),
        ..TaskChange::default()
    };
    update(&world, 1, set(json!({"a": 1, "b": 2})), &person).unwrap();
    let merged = update(&world, 1, set(json!({"a": null, "c": 3})), &person).unwrap();
    assert_eq!(merged.changed_fields, ["metadata"]);
    let mut metadata = merged.task.metadata.unwrap();
    assert_eq!(metadata.remove("swarm").unwrap()["version"], 2);
    assert_eq!(Value::from(metadata), json!({"b": 2, "c": 3}));
    let error = update(&world, 1, set(json!({"swarm": {}})), &person).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let before = world.files();
    let nothing = update(&world, 1, set(json!({"b": 2})), &person).unwrap();
    assert!(nothing.changed_fields.is_empty());
    assert_eq!(world.files(), before, "what changes nothing writes nothing");
}

#[test]
fn every_change_of_state_is_in_the_journal() {
    use TaskState::{Completed, InProgress, Pending};
    let world = World::new();
    world.create("work", &[]);
    let alice = world.actor("alice");
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    world.handle().release(&id(1), &alice).block_on().unwrap();
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    update(&world, 1, status(TaskStatus::Completed), &alice).unwrap();
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

/// The maximum number of tasks in one call, each blocked by the previous one.
fn long_chain(count: usize) -> Vec<NewTask> {
    let task = |place: usize| NewTask {
        after: place.checked_sub(1).into_iter().collect(),
        ..new_task(&format!("part {place}"), &[])
    };
    (0..count).map(task).collect()
}

#[test]
fn a_long_list_is_made_in_one_call_and_waits_for_tasks_that_were_there() {
    let world = World::new();
    world.create("first", &[]);
    let mut new = long_chain(3000);
    new[2999].blocked_by = vec![id(1)];
    let ids = world
        .handle()
        .create_tasks(&new, &world.person())
        .block_on()
        .unwrap();
    assert_eq!((ids[0], ids[2999]), (id(2), id(3001)));
    let list = world.handle().tasks().block_on().unwrap();
    assert_eq!((list.tasks.len(), list.broken.len()), (3001, 0));
    assert_eq!(list.tasks[0].blocks, [id(3001)]);
    assert_eq!(list.tasks[3000].blocked_by, [id(1), id(3000)]);
    assert_eq!(list.tasks[1].blocks, [id(3)]);
}

#[test]
fn a_long_list_that_was_cut_short_is_completed_and_what_was_done_to_it_since_stays() {
    let world = World::new();
    world
        .handle()
        .create_tasks(&long_chain(300), &world.person())
        .block_on()
        .unwrap();
    let text = |number: u64| fs::read(world.task_path(number)).unwrap();
    let writes: Vec<Value> = (1..=300)
        .map(|number: u64| {
            let after: Value = serde_json::from_slice(&text(number)).unwrap();
            json!({"id": number.to_string(), "before": null, "after": after})
        })
        .collect();
    (101..=300).for_each(|number| fs::remove_file(world.task_path(number)).unwrap());
    let mut claimed: Value = serde_json::from_slice(&text(7)).unwrap();
    claimed["owner"] = json!("ivy");
    swarm_os::replace_alone(&world.task_path(7), claimed.to_string().as_bytes()).unwrap();
    let untouched = fs::metadata(world.task_path(50)).unwrap().ino();
    let redo = world
        .handle()
        .team_directory()
        .join("swarm/tasks.redo.json");
    swarm_os::replace_alone(&redo, json!({"writes": writes}).to_string().as_bytes()).unwrap();

    let told = Arc::new(Mutex::new(Vec::new()));
    let tells = Arc::clone(&told);
    let store = world
        .store
        .clone()
        .announcing(move |team, tasks| tells.lock().push((team.clone(), tasks)));
    let list = store.team(&world.team).tasks().block_on().unwrap();
    assert_eq!(list.tasks.len(), 300);
    assert_eq!(list.tasks[6].owner.as_deref(), Some("ivy"));
    assert_eq!(list.tasks[299].blocked_by, [id(299)]);
    assert_eq!(fs::metadata(world.task_path(50)).unwrap().ino(), untouched);
    assert_eq!(*told.lock(), [(world.team.clone(), 300)]);
    assert!(!redo.exists());
}

#[test]
fn where_no_number_is_left_nothing_is_created_and_nothing_is_overwritten() {
    let mark = |world: &World, text: &str| {
        let directory = world.handle().tasks_directory();
        swarm_os::replace_alone(&directory.join(".highwatermark"), text.as_bytes()).unwrap();
    };
    let refused = |world: &World, count: usize| {
        let before = world.files();
        let new = vec![new_task("more", &[]); count];
        let error = world
            .handle()
            .create_tasks(&new, &world.person())
            .block_on()
            .unwrap_err();
        assert!(matches!(error, StoreError::NumbersUsedUp { .. }), "{error}");
        assert!(error.hint().unwrap().contains(".highwatermark"));
        assert!(world.files() == before, "something changed");
    };
    let world = World::new();
    world.create("one", &[]);
    mark(&world, "18446744073709551615");
    refused(&world, 1);
    mark(&world, "18446744073709551613");
    refused(&world, 3);
    assert_eq!(world.create("the last but one", &[]), id(u64::MAX - 1));

    let world = World::new();
    let task = json!({"id": u64::MAX.to_string(), "subject": "s", "description": "d", "status": "pending",
        "blocks": [], "blockedBy": []});
    let path = world.task_path(u64::MAX);
    swarm_os::replace_alone(&path, task.to_string().as_bytes()).unwrap();
    swarm_os::create_private_file(&world.handle().tasks_directory().join(".lock")).unwrap();
    refused(&world, 1);
}

/// The record of a call that was interrupted after its first file: task 2 exists, but its edge is
/// missing in task 1.
fn cut_short(world: &World) {
    world.create("one", &[]);
    let before = fs::read_to_string(world.task_path(1)).unwrap();
    world.create("two", &[1]);
    let after: Value = serde_json::from_slice(&fs::read(world.task_path(1)).unwrap()).unwrap();
    let second: Value = serde_json::from_slice(&fs::read(world.task_path(2)).unwrap()).unwrap();
    let redo = json!({"writes": [
        {"id": "1", "before": before, "after": after},
        {"id": "2", "before": null, "after": second},
    ]});
    let directory = world.handle().team_directory();
    swarm_os::replace_alone(
        &directory.join("swarm/tasks.redo.json"),
        redo.to_string().as_bytes(),
    )
    .unwrap();
    swarm_os::replace_alone(&world.task_path(1), before.as_bytes()).unwrap();
}

#[test]
fn an_interrupted_call_is_completed_by_the_next_one() {
    let world = World::new();
    cut_short(&world);
    let tasks = world.handle().tasks().block_on().unwrap().tasks;
    assert_eq!(tasks[0].blocks, [id(2)]);
    assert_eq!(tasks[1].blocked_by, [id(1)]);
    let world = World::new();
    cut_short(&world);
    let person = world.person();
    let unblocked = world
        .handle()
        .delete_task(&id(1), &person)
        .block_on()
        .unwrap();
    assert_eq!(unblocked.len(), 1, "a writer completes it first");
}

#[test]
fn completing_a_call_keeps_what_another_program_wrote_meanwhile() {
    let world = World::new();
    cut_short(&world);
    let mut theirs: Value = serde_json::from_slice(&fs::read(world.task_path(1)).unwrap()).unwrap();
    theirs["owner"] = json!("ivy");
    swarm_os::replace_alone(&world.task_path(1), theirs.to_string().as_bytes()).unwrap();
    let task = world.handle().task(&id(1)).block_on().unwrap();
    assert_eq!(task.owner.as_deref(), Some("ivy"));
    assert_eq!(task.blocks, [id(2)]);
}

#[test]
fn a_damaged_note_of_a_call_is_kept_aside() {
    let world = World::new();
    world.create("one", &[]);
    let directory = world.handle().team_directory();
    swarm_os::replace_alone(&directory.join("swarm/tasks.redo.json"), b"{").unwrap();
    assert_eq!(world.handle().tasks().block_on().unwrap().tasks.len(), 1);
    let kept = world.events().into_iter().find_map(|event| match event {
        Event::FileDamaged { kept, .. } => Some(kept),
        _ => None,
    });
    assert_eq!(fs::read(kept.unwrap()).unwrap(), b"{");
}

/// Makes task 2 depend on task 1, recorded on one side of the edge only.
fn half_an_edge(world: &World) {
    world.create("first", &[]);
    world.create("second", &[]);
    let path = world.task_path(2);
    let text = fs::read_to_string(&path).unwrap();
    let half = text.replace("\"blockedBy\": []", "\"blockedBy\": [\"1\"]");
    assert_ne!(half, text);
    swarm_os::replace_alone(&path, half.as_bytes()).unwrap();
}

#[test]
fn a_change_reads_a_task_and_its_neighbours_and_the_whole_list_where_another_program_takes_part() {
    let world = World::with_member("alice");
    half_an_edge(&world);
    let person = world.person();
    let error = world
        .handle()
        .claim(&id(2), &person)
        .block_on()
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Blocked { .. }),
        "whom it waits for is known"
    );
    let done = update(&world, 1, status(TaskStatus::Completed), &person).unwrap();
    assert!(done.unblocked.is_empty(), "task 1 has no dependents");
    world.handle().claim(&id(2), &person).block_on().unwrap();

    let world = World::new();
    half_an_edge(&world);
    world
        .store
        .update_config(&world.team, |config| {
            let mut foreign = config.members[0].clone();
            foreign.name = name("claude");
            foreign.agent_id = "claude@demo".parse().unwrap();
            config.members.push(foreign);
            Ok(())
        })
        .unwrap();
    let done = update(&world, 1, status(TaskStatus::Completed), &world.person()).unwrap();
    let unblocked: Vec<_> = done.unblocked.iter().map(|task| task.id).collect();
    assert_eq!(unblocked, [id(2)]);
}

#[test]
fn a_task_with_checks_is_completed_only_by_passed_runs_of_all_of_them() {
    use swarm_protocol::{CheckRun, UnixMs};

    let world = World::with_member("bob");
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
        assert!(matches!(refused, Err(StoreError::Unchecked { .. })));
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
    let checks = team.task(&id).block_on().unwrap().swarm().checks;
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
