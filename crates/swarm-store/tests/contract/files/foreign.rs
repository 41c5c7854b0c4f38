//! Interoperation with other programs on the same files.

use std::fs;

use serde_json::{Value, json};
use swarm_protocol::{ErrorKind, TaskStatus, TeamName};
use swarm_store::{BlockOn as _, Draft, StoreError, TaskChange, TeamStore};

use crate::files::world::{World, id, name, new_member};
use crate::values::killed;
use crate::values::team;

fn put(world: &World, number: u64, text: &str) {
    swarm_os::replace_alone(&world.task_path(number), text.as_bytes()).unwrap();
}

fn done() -> TaskChange {
    TaskChange::from(TaskStatus::Completed)
}

#[test]
fn a_task_without_our_metadata_goes_through_its_whole_life() {
    let world = World::new();
    put(
        &world,
        8,
        r#"{"id":"8","subject":"extra","description":"d","status":"pending","blocks":[],"blockedBy":[],"foo":1,"priority":"high","metadata":{"_internal":true}}"#,
    );
    let alice = world.actor("alice");
    world.create("after", &[8]);
    world.handle().claim(&id(8), &alice).block_on().unwrap();
    let updated = world
        .handle()
        .update_task(&id(8), done(), &alice)
        .block_on()
        .unwrap();
    assert_eq!(updated.unblocked.len(), 1);
    let text = fs::read_to_string(world.task_path(8)).unwrap();
    let task: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&task["foo"], &task["priority"]),
        (&json!(1), &json!("high"))
    );
    assert_eq!(task["metadata"]["_internal"], true);
    assert_eq!(task["blocks"], json!(["9"]));
    world
        .handle()
        .delete_task(&id(8), &alice)
        .block_on()
        .unwrap();
}

#[test]
fn a_claim_of_another_program_counts_by_its_name() {
    let world = World::new();
    let spawn = world.join("alice");
    for (number, owner) in [(1, "alice"), (2, "alice@crew"), (3, "carol"), (4, "")] {
        put(
            &world,
            number,
            &json!({"id": number.to_string(), "subject": "s", "description": "d", "status": "in_progress",
                "owner": owner, "blocks": [], "blockedBy": []})
            .to_string(),
        );
    }
    let alice = swarm_store::Actor::member(&world.team, name("alice"), Some(spawn));
    for number in [1, 2] {
        world
            .handle()
            .update_task(&id(number), done(), &alice)
            .block_on()
            .unwrap();
    }
    let error = world
        .handle()
        .update_task(&id(3), done(), &alice)
        .block_on()
        .unwrap_err();
    assert!(matches!(&error, StoreError::NotYours { owner, .. } if owner == "carol"));
    let error = world.handle().claim(&id(4), &alice).block_on().unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }));
    world
        .handle()
        .release(&id(4), &world.person())
        .block_on()
        .unwrap();
    world.handle().claim(&id(4), &alice).block_on().unwrap();
}

#[test]
fn an_owner_that_another_program_put_in_our_owners_place_is_the_owner() {
    let world = World::new();
    let spawn = world.join("alice");
    world.join("bob");
    world.create("work", &[]);
    let alice = swarm_store::Actor::member(&world.team, name("alice"), Some(spawn));
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let text = fs::read_to_string(world.task_path(1)).unwrap();
    let mut task: Value = serde_json::from_str(&text).unwrap();
    task["owner"] = json!("bob");
    put(&world, 1, &task.to_string());
    let error = world
        .handle()
        .update_task(&id(1), done(), &alice)
        .block_on()
        .unwrap_err();
    assert!(matches!(&error, StoreError::NotYours { owner, .. } if owner == "bob"));
    world
        .handle()
        .update_task(&id(1), done(), &world.actor("bob"))
        .block_on()
        .unwrap();
}

#[test]
fn broken_task_files_are_reported_and_hide_no_other() {
    let world = World::new();
    world.create("good", &[]);
    for (number, text) in [
        (2, ""),
        (3, "{\"id\":\"3\",\"subj"),
        (
            4,
            r#"{"id":"5","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[]}"#,
        ),
        (
            5,
            r#"{"id":"5","subject":"s","description":"d","status":"weird","blocks":[],"blockedBy":[]}"#,
        ),
        (
            6,
            r#"{"id":"6","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[],"metadata":{"swarm":[]}}"#,
        ),
    ] {
        put(&world, number, text);
    }
    let directory = world.tasks();
    for ignored in [
        "notes.txt",
        "x.json",
        "007.json",
        "#9.json",
        "7.json.tmp.1234abcd",
    ] {
        swarm_os::replace_alone(&directory.join(ignored), b"?").unwrap();
    }
    let list = world.handle().tasks().block_on().unwrap();
    assert_eq!(list.tasks.len(), 1);
    let broken: Vec<_> = list.broken.iter().map(|broken| &broken.path).collect();
    let expected: Vec<_> = (2..=6).map(|number| world.task_path(number)).collect();
    assert_eq!(broken, expected.iter().collect::<Vec<_>>());
    let error = world.handle().task(&id(3)).block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("3.json"));
    let claimed = world
        .handle()
        .claim_next(&world.actor("alice"))
        .block_on()
        .unwrap();
    assert_eq!(claimed.unwrap().id, id(1));
    let before = world.files();
    let error = world
        .handle()
        .claim(&id(2), &world.actor("alice"))
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert_eq!(world.files(), before);
    assert_eq!(world.create("next", &[]), id(7));
}

#[test]
fn a_file_in_a_tasks_place_that_is_a_link_is_not_followed() {
    let world = World::new();
    let victim = world.root.join("victim.json");
    let text = r#"{"id":"1","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[]}"#;
    swarm_os::replace_alone(&victim, text.as_bytes()).unwrap();
    std::os::unix::fs::symlink(&victim, world.task_path(1)).unwrap();
    let list = world.handle().tasks().block_on().unwrap();
    assert_eq!((list.tasks.len(), list.broken.len()), (0, 1));
    assert!(
        world
            .handle()
            .claim(&id(1), &world.person())
            .block_on()
            .is_err()
    );
    assert_eq!(fs::read_to_string(&victim).unwrap(), text);
}

/// A team created by Claude Code, without swarm's directory.
fn foreign_team(world: &World) -> TeamName {
    let directory = world.root.join("teams/session-18c6ce1d");
    fs::create_dir_all(directory.join("inboxes")).unwrap();
    let config = r#"{"name":"session-18c6ce1d","createdAt":1795195647448,"leadAgentId":"team-lead@session-18c6ce1d",
        "members":[{"agentId":"team-lead@session-18c6ce1d","name":"team-lead","agentType":"team-lead","joinedAt":1,
        "tmuxPaneId":"leader","cwd":"/home/dev/proj","subscriptions":[],"backendType":"in-process"}]}"#;
    swarm_os::replace_alone(&directory.join("config.json"), config.as_bytes()).unwrap();
    team("session-18c6ce1d")
}

#[test]
fn a_team_of_another_program_can_be_looked_at_and_is_not_written_to() {
    let world = World::new();
    let theirs = foreign_team(&world);
    let before = world.files();
    let store = &world.store;
    assert_eq!(store.teams().block_on().unwrap().len(), 2);
    assert_eq!(
        store
            .team(&theirs)
            .config()
            .block_on()
            .unwrap()
            .members
            .len(),
        1
    );
    assert_eq!(
        store.team(&theirs).member_view().block_on().unwrap().len(),
        1
    );
    assert!(store.team(&theirs).tasks().block_on().unwrap().is_empty());
    let lead = name("team-lead");
    for outcome in [
        store
            .team(&theirs)
            .send(&lead, Draft::new("x", "y"))
            .block_on()
            .map(drop),
        store
            .team(&theirs)
            .reserve(new_member("alice"))
            .block_on()
            .map(drop),
        store
            .team(&theirs)
            .claim_next(&world.person())
            .block_on()
            .map(drop),
        store.team(&theirs).delete(true, true).block_on().map(drop),
        store
            .team(&theirs)
            .journal(swarm_protocol::Event::TeamDeleted { by: String::new() })
            .block_on(),
    ] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::ForeignTeam(_)), "{error}");
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    assert_eq!(world.files(), before);
}

#[test]
fn everything_works_by_lock_directories_alone() {
    let mut world = World::new();
    let by_directory = swarm_os::LockOptions {
        directory_only: true,
        ..swarm_os::LockOptions::default()
    };
    world.set_store(world.store.clone().with_lock_options(by_directory));
    let spawn = world.join("alice");
    let sent: Vec<_> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let draft = Draft::new("team-lead", "hello");
                    let sent = world.handle().send(&name("alice"), draft).block_on();
                    world.create("work", &[]);
                    sent.unwrap()
                })
            })
            .collect();
        senders
            .into_iter()
            .map(|sender| sender.join().unwrap())
            .collect()
    });
    assert_eq!(world.unread("alice").len(), sent.len());
    assert_eq!(world.handle().tasks().block_on().unwrap().tasks.len(), 4);
    let alice = name("alice");
    world.handle().ack(&alice, &sent).block_on().unwrap();
    world
        .handle()
        .remove_member(&alice, Some(&killed(spawn)))
        .block_on()
        .unwrap();
    let archive = world.handle().delete(false, false).block_on().unwrap();
    let mut names: Vec<_> = fs::read_dir(archive.unwrap().join("tasks"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            ".highwatermark",
            ".lock",
            "1.json",
            "2.json",
            "3.json",
            "4.json"
        ]
    );
    assert_eq!(fs::read_dir(world.root.join("teams")).unwrap().count(), 0);
}
