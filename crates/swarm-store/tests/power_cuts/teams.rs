//! Creating, adopting and deleting teams.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_protocol::TeamName;
use swarm_store::{Actor, BlockOn as _, Draft, FileStore, TeamStore as _};

use crate::disk;
use crate::files::{World, new_member, new_task, new_team, store_at};
use crate::replay;
use crate::values::team;

/// Fails unless everything in a team works.
fn assert_works(store: &FileStore, name_of_team: &TeamName) {
    let team = store.team(name_of_team);
    assert!(team.verify_key().block_on().is_ok());
    let (new, person) = ([new_task("part", &[])], Actor::person(name_of_team));
    team.create_tasks(&new, &person).block_on().unwrap();
    let mut new = new_member("eve");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    team.reserve(new).block_on().unwrap();
    team.reconcile().block_on().unwrap();
    assert!(!team.events().block_on().unwrap().entries.is_empty());
}

#[test]
fn a_new_team_is_complete_after_a_power_cut_or_does_not_exist() {
    let world = World::new();
    let next = team("next");
    replay(
        &world,
        || {
            let made = world.store.create_team(new_team("next"));
            made.block_on().map(drop).unwrap();
        },
        |store| {
            let is_there = store.teams().block_on().unwrap().contains(&next);
            if is_there {
                assert_works(store, &next);
            } else {
                store.create_team(new_team("next")).block_on().unwrap();
            }
            is_there
        },
    );
}

#[test]
fn a_team_of_another_program_is_adopted_after_a_power_cut_or_can_be() {
    let world = World::new();
    fs::remove_dir_all(world.file("swarm")).unwrap();
    fs::remove_dir_all(world.tasks()).unwrap();
    replay(
        &world,
        || world.handle().adopt().block_on().unwrap(),
        |store| {
            let team = store.team(&world.team);
            let is_done = !team.is_foreign().block_on();
            team.adopt().block_on().unwrap();
            assert!(team.is_adopted().block_on().unwrap());
            assert_works(store, &world.team);
            is_done
        },
    );
}

/// Returns the path of a file in one of the archives: a deletion that is repeated has another one.
fn archived(root: &Path, file: &str) -> Option<PathBuf> {
    let archives = fs::read_dir(root.join("swarm/archive")).ok()?;
    let mut files = archives.map(|entry| entry.unwrap().path().join(file));
    files.find(|file| file.is_file())
}

#[test]
fn a_deleted_team_is_in_the_archive_after_a_power_cut_or_can_be_deleted_again() {
    let world = World::with_member("ann");
    world.create("part", &[]);
    world.send("ann", "hello");
    let scratchpad = world.root.join("scratchpad/crew");
    swarm_os::ensure_private_dir(&scratchpad).unwrap();
    swarm_os::replace_alone(&scratchpad.join("notes.md"), b"notes").unwrap();
    disk::replay(
        &world.root,
        || world.handle().delete(false, true).block_on().unwrap(),
        |root, _archive| {
            let store = store_at(root);
            let (teams, remains) = store.teams_and_remains().block_on().unwrap();
            let is_done = teams.is_empty() && remains.is_empty();
            if !is_done {
                // Its remains may have no roster.
                drop(store.team(&world.team).delete(false, true).block_on());
            }
            store.sweep(true).block_on().unwrap();
            for file in ["tasks/1.json", "config.json", "inboxes/ann.json"] {
                assert!(archived(root, file).is_some(), "{file}");
            }
            let journal = archived(root, "journal.jsonl").unwrap();
            let journal = fs::read_to_string(journal).unwrap();
            assert!(journal.contains("team_deleted"));
            let has_notes = archived(root, "scratchpad/notes.md").is_some();
            store.create_team(new_team("crew")).block_on().unwrap();
            is_done && has_notes
        },
    );
}
