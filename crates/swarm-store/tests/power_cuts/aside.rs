//! Damaged files, which are renamed and kept, and malformed elements of an inbox.

use std::fs;
use std::path::Path;

use swarm_store::{BlockOn as _, TeamStore as _};

use crate::disk;
use crate::files::{World, name, store_at};

/// Returns the contents of the files in a directory.
fn contents(directory: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(directory).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.is_file())
        .map(|path| fs::read(path).unwrap())
        .collect()
}

/// Damages a file of the world and replays `work`, which moves it aside.
fn replay_damage(world: &World, file: &Path, work: impl FnOnce()) {
    let damaged = b"{ damaged";
    swarm_os::replace_alone(file, damaged).unwrap();
    let file = file.strip_prefix(&world.root).unwrap();
    disk::replay(&world.root, work, |root, ()| {
        let directory = root.join(file).parent().unwrap().to_owned();
        let kept = contents(&directory);
        assert!(kept.contains(&damaged.to_vec()), "{}", file.display());
        let journal = fs::read_to_string(root.join("teams/crew/swarm/journal.jsonl"));
        let is_recorded = journal.unwrap().contains("file_damaged");
        is_recorded && !fs::read(root.join(file)).is_ok_and(|content| content == damaged)
    });
}

#[test]
fn a_damaged_file_is_kept_whenever_the_power_is_cut() {
    let world = World::with_member("ann");
    replay_damage(&world, &world.file("swarm/tasks.redo.json"), || {
        world.create("part", &[]);
    });
    let world = World::with_member("ann");
    replay_damage(&world, &world.file("swarm/tasks.outbox.json"), || {
        world.create("part", &[]);
    });
    let world = World::with_member("ann");
    replay_damage(&world, &world.tasks().join(".highwatermark"), || {
        world.create("part", &[]);
    });
}

#[test]
fn a_damaged_record_of_a_former_member_is_kept_whenever_the_power_is_cut() {
    let world = World::with_member("ann");
    let former = world.file("swarm/members/ann/former.json");
    swarm_os::replace_alone(&former, b"{ damaged").unwrap();
    let former = former.strip_prefix(&world.root).unwrap();
    let (team, ann) = (world.handle(), name("ann"));
    disk::replay(
        &world.root,
        || team.remove_member(&ann, None).block_on().map(drop).unwrap(),
        |root, ()| {
            let kept = contents(root.join(former).parent().unwrap());
            assert!(kept.contains(&b"{ damaged".to_vec()));
            let team = store_at(root).team(&world.team);
            let config = team.config().block_on().unwrap();
            let is_done = config.member(&ann).is_none();
            if is_done {
                assert!(team.former_member(&ann).block_on().unwrap().is_some());
            }
            is_done
        },
    );
}

#[test]
fn a_damaged_inbox_is_kept_and_its_owner_knows_whenever_the_power_is_cut() {
    let world = World::with_member("ann");
    let file = world.inbox_path("ann");
    swarm_os::replace_alone(&file, b"{ damaged").unwrap();
    disk::replay(
        &world.root,
        || assert_eq!(world.texts("ann").len(), 1),
        |root, ()| {
            let kept = contents(&root.join("teams/crew/inboxes"));
            assert!(kept.contains(&b"{ damaged".to_vec()));
            let inbox = fs::read_to_string(root.join("teams/crew/inboxes/ann.json"));
            inbox.is_ok_and(|inbox| inbox.contains("was damaged"))
        },
    );
}

#[test]
fn malformed_elements_of_an_inbox_are_kept_whenever_the_power_is_cut() {
    let world = World::with_member("ann");
    let file = world.inbox_path("ann");
    swarm_os::replace_alone(&file, br#"[{"odd": "element"}]"#).unwrap();
    disk::replay(
        &world.root,
        || assert_eq!(world.texts("ann"), [""; 0]),
        |root, ()| {
            let holds = |file: &str| {
                let text = fs::read_to_string(root.join("teams/crew").join(file));
                text.is_ok_and(|text| text.contains("odd"))
            };
            let is_in_inbox = holds("inboxes/ann.json");
            assert!(is_in_inbox || holds("swarm/archive/ann.malformed.jsonl"));
            !is_in_inbox
        },
    );
}
