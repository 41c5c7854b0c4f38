//! Completed operations are synced, file and directory.

use std::fs;
use std::path::Path;

use swarm_protocol::{Answer, AnsweredBy, Event, TaskStatus};
use swarm_store::{BlockOn as _, Draft, TaskChange, TeamStore};

use crate::files::grants::asked;
use crate::files::recorder::left_open;
use crate::files::world::{World, id, name, new_member, new_task, new_team, store_at};

#[track_caller]
pub(crate) fn assert_durable<T>(world: &World, work: impl FnOnce() -> T) -> T {
    let (done, left) = left_open(&world.root, work);
    assert!(left.is_empty(), "{left:?}");
    done
}

#[test]
fn a_team_that_was_made_is_on_disk_with_its_task_list() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    let store = store_at(&root);
    let (made, mut left) = left_open(directory.path(), || {
        store.create_team(new_team("crew")).block_on()
    });
    made.unwrap();
    // The lock for creating teams is recreated if missing.
    let made_again = format!("entry {}", root.join("swarm").display());
    left.retain(|left| !left.starts_with(&made_again));
    assert!(left.is_empty(), "{left:?}");
    assert!(root.join("tasks/crew").is_dir());
}

#[test]
fn an_adopted_team_is_on_disk_with_its_locks_and_its_task_list() {
    let world = World::new();
    // As another program leaves it.
    fs::remove_dir_all(world.file("swarm")).unwrap();
    fs::remove_dir_all(world.tasks()).unwrap();
    assert_durable(&world, || world.handle().adopt().block_on().unwrap());
    assert!(world.handle().is_adopted().block_on().unwrap());
}

#[test]
fn a_message_that_was_sent_is_on_disk_and_its_line_in_the_journal_is_not_waited_for() {
    let world = World::with_member("ann");
    let (_posted, left) = left_open(&world.root, || {
        let draft = Draft::new("team-lead", "hello");
        world.handle().post(&name("ann"), draft).block_on().unwrap()
    });
    let line = format!("content of {}", world.file("swarm/journal.jsonl").display());
    assert_eq!(left, [line]);
}

#[test]
fn what_was_done_to_tasks_is_on_disk() {
    let world = World::with_member("ann");
    let (store, team, person) = (&world.store, &world.team, world.person());
    let create = |blocked_by: &[u64], count: usize| {
        let new = vec![new_task("part", blocked_by); count];
        store
            .team(team)
            .create_tasks(&new, &person)
            .block_on()
            .unwrap()
    };
    assert_durable(&world, || create(&[], 1));
    assert_durable(&world, || create(&[1], 300));
    assert_durable(&world, || {
        store.team(team).claim(&id(1), &person).block_on().unwrap()
    });
    let done = TaskChange::from(TaskStatus::Completed);
    assert_durable(&world, || {
        store
            .team(team)
            .update_task(&id(1), done, &person)
            .block_on()
            .unwrap()
    });
    assert_durable(&world, || {
        store.team(team).claim(&id(2), &person).block_on().unwrap()
    });
    assert_durable(&world, || {
        store
            .team(team)
            .release(&id(2), &person)
            .block_on()
            .unwrap()
    });
    assert_durable(&world, || {
        store
            .team(team)
            .delete_task(&id(2), &person)
            .block_on()
            .unwrap()
    });
}

/// Returns what a power failure could undo of `work`, except directories and locks of members and
/// the lock file of the task list, which are created again if they are missing.
fn left_of<T>(world: &World, work: impl FnOnce() -> T) -> Vec<String> {
    let (_done, mut left) = left_open(&world.root, work);
    left.retain(|left| {
        let directory = Path::new(left).parent().unwrap();
        let is_lock = directory.ends_with("swarm/locks") || left.ends_with("/.lock");
        !directory.ends_with("swarm/members") && !is_lock
    });
    left
}

#[test]
fn a_reservation_and_its_prompt_are_on_disk() {
    let world = World::new();
    let mut new = new_member("ann");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    let left = left_of(&world, || world.handle().reserve(new).block_on().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_member_of_another_program_an_event_and_a_removal_are_on_disk() {
    let world = World::with_member("ann");
    let files = world.handle();
    let left = left_of(&world, || {
        let ivy = name("ivy");
        let added = files.add_external(&ivy, Path::new("/work"));
        added.block_on().unwrap();
    });
    assert!(left.is_empty(), "{left:?}");
    assert_durable(&world, || {
        let by = "a test".to_owned();
        let event = Event::TeamDeleted { by };
        files.journal(event).block_on().unwrap();
    });
    let left = left_of(&world, || {
        files.remove_member(&name("ann"), None).block_on().unwrap();
    });
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_archive_is_on_disk() {
    let world = World::new();
    world.create("part", &[]);
    let (archive, mut left) = left_open(&world.root, || {
        world.handle().delete(false, false).block_on().unwrap()
    });
    left.retain(|left| left.contains("swarm/archive"));
    assert!(left.is_empty(), "{left:?}");
    assert!(archive.unwrap().join("tasks/1.json").is_file());
}

#[test]
fn a_spawn_that_was_committed_is_on_disk() {
    let world = World::new();
    let new = new_member("ann");
    let spawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    assert_durable(&world, || world.commit(spawn));
}

#[test]
fn a_committed_spawn_and_an_answer_are_on_disk() {
    let world = World::new();
    let files = world.handle();
    let reserved = files.reserve(new_member("ann")).block_on().unwrap();
    let spawn = reserved.spawn_id().unwrap();
    assert_durable(&world, || world.commit(spawn));
    let asked = files
        .open_request(asked("perm-1-aaaaaaa", spawn), None)
        .block_on()
        .unwrap();
    let by = AnsweredBy::person(1, None);
    assert_durable(&world, || {
        files
            .answer_request(&asked.id, None, Answer::once(), by)
            .block_on()
            .unwrap()
    });
}
