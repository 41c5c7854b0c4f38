//! The task list in Claude Code's files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use swarm_protocol::{Event, SpawnId, TaskStatus};
use swarm_store::{Actor, BlockOn as _, StoreError, TaskChange, TaskUpdated, TeamStore};

use crate::files::world::{World, id, name, new_task};
use crate::tasks::long_chain;

fn status(status: TaskStatus) -> TaskChange {
    TaskChange::from(status)
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
fn numbers_are_never_used_again() {
    let world = World::new();
    for subject in ["one", "two", "three"] {
        world.create(subject, &[]);
    }
    // Also after the directory was cleared by hand, or another program used higher numbers.
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
    let redo = world.file("swarm/tasks.redo.json");
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
        let directory = world.tasks();
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
    swarm_os::create_private_file(&world.tasks().join(".lock")).unwrap();
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
    let directory = world.file("");
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
    let directory = world.file("");
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
