//! Leftovers of killed processes and their removal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use swarm_store::{BlockOn as _, Draft, TeamStore};

use crate::files::world::{World, id, name};

/// The state after a delete was killed with the tasks archived and the team moved away.
fn half_deleted() -> (World, PathBuf) {
    let world = World::with_member("alice");
    world.create("work", &[]);
    let draft = Draft::new("a", "hello");
    world
        .handle()
        .send(&name("alice"), draft)
        .block_on()
        .unwrap();
    let archive = archive(&world, "crew-2026-11-22T101500.000Z", &[]);
    fs::rename(world.root.join("tasks/crew"), archive.join("tasks")).unwrap();
    fs::rename(world.root.join("teams/crew"), aside(&world)).unwrap();
    (world, archive)
}

fn aside(world: &World) -> PathBuf {
    let name = "teams/crew.deleted-00000000-0000-4000-8000-000000000000";
    world.root.join(name)
}

/// An incomplete archive with these parts.
fn archive(world: &World, name: &str, parts: &[&str]) -> PathBuf {
    let archive = world.root.join("swarm/archive").join(name);
    fs::create_dir_all(&archive).unwrap();
    for part in parts {
        fs::create_dir(archive.join(part)).unwrap();
    }
    archive
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_left_of_a_half_deleted_team_goes_to_the_archive_that_was_begun() {
    let (world, begun) = half_deleted();
    let complete = archive(
        &world,
        "crew-2026-11-22T111500.000Z",
        &["tasks", "journal.jsonl", "config.json", "inboxes"],
    );
    let namesake = archive(&world, "crew-x-2026-11-22T111500.000Z", &["tasks"]);
    let without_tasks = archive(&world, "crew-2026-11-22T121500.000Z", &[]);
    world.store.sweep(true).block_on().unwrap();
    assert_eq!(
        names(&begun),
        ["config.json", "inboxes", "journal.jsonl", "tasks"]
    );
    assert!(begun.join("inboxes/alice.json").is_file());
    assert_eq!(names(&namesake), ["tasks"], "it is another team's");
    assert_eq!(names(&without_tasks), [""; 0]);
    assert_eq!(names(&complete.join("inboxes")), [""; 0]);
    assert_eq!(names(&world.root.join("teams")), [""; 0]);
}

#[test]
fn what_is_left_of_a_team_without_an_archive_gets_a_new_one() {
    let (world, begun) = half_deleted();
    fs::remove_dir_all(&begun).unwrap();
    let complete = archive(
        &world,
        "crew-2026-11-22T111500.000Z",
        &["tasks", "journal.jsonl", "config.json", "inboxes"],
    );
    world.store.sweep(true).block_on().unwrap();
    assert_eq!(names(&complete.join("inboxes")), [""; 0]);
    let archives = names(&world.root.join("swarm/archive"));
    let new = archives
        .iter()
        .find(|name| !complete.ends_with(name))
        .unwrap();
    let new = world.root.join("swarm/archive").join(new);
    assert_eq!(names(&new), ["config.json", "inboxes", "journal.jsonl"]);
}

#[test]
fn archives_that_cannot_be_listed_are_not_taken_for_none() {
    let (world, begun) = half_deleted();
    let archives = begun.parent().unwrap();
    fs::rename(archives, archives.with_extension("moved")).unwrap();
    fs::File::create(archives).unwrap();
    let swept = world.store.sweep(true).block_on().unwrap();
    let [(leftover, removed)] = &swept[..] else {
        panic!("{swept:?}");
    };
    assert_eq!(leftover.path, aside(&world));
    removed.as_ref().unwrap_err();
    assert!(aside(&world).join("config.json").is_file(), "it is kept");
}

#[test]
fn temporary_files_of_killed_processes_go_from_every_directory_of_swarm() {
    let world = World::with_member("alice");
    let made: Vec<PathBuf> = [
        "swarm",
        "swarm/peers",
        "sessions",
        "projects/-work",
        "projects/-work/one",
    ]
    .iter()
    .map(|below| {
        let directory = world.root.join(below);
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join(".one.json.abc123.swarm-tmp");
        let file = fs::File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_hours(2))
            .unwrap();
        path
    })
    .collect();
    world.store.sweep(true).block_on().unwrap();
    assert!(!made.iter().any(|path| path.exists()), "{made:?}");
}

#[test]
fn the_next_one_at_the_task_list_clears_what_a_killed_process_left_among_the_tasks() {
    let world = World::new();
    world.create("work", &[]);
    let tasks = world.root.join("tasks/crew");
    let mark = |name: &str, mode| {
        let lock = tasks.join(name);
        fs::create_dir(&lock).unwrap();
        fs::set_permissions(&lock, PermissionsExt::from_mode(mode)).unwrap();
    };
    mark(".lock.lock", 0o1700);
    mark("1.json.lock", 0o1700);
    mark("7.json.lock", 0o700);
    fs::File::create(tasks.join(".1.json.abc.swarm-tmp")).unwrap();
    let outbox = world.file("swarm/.tasks.outbox.json.abc.swarm-tmp");
    fs::File::create(&outbox).unwrap();
    world.create("more", &[]);
    assert!(!outbox.exists());
    let left: Vec<_> = names(&tasks)
        .into_iter()
        .filter(|name| {
            [".lock", ".swarm-tmp"]
                .iter()
                .any(|end| name.ends_with(end))
        })
        .collect();
    assert_eq!(
        left,
        [".lock", "7.json.lock"],
        "that one may be in use by another program"
    );
    assert_eq!(
        world.handle().task(&id(2)).block_on().unwrap().subject,
        "more"
    );
}

#[test]
fn a_message_that_is_in_the_inbox_was_sent_though_the_journal_takes_no_line() {
    let world = World::with_member("alice");
    let journal = world.file("swarm/journal.jsonl");
    fs::rename(&journal, journal.with_extension("moved")).unwrap();
    fs::create_dir(&journal).unwrap();
    let draft = Draft::new("a", "hello");
    world
        .handle()
        .send(&name("alice"), draft)
        .block_on()
        .unwrap();
    assert_eq!(world.unread("alice").len(), 1);
}
