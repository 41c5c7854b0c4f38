//! Several commands about one thing at once, some of them killed.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::super::dice::{Dice, Seed};
use super::super::workers::Programs;
use super::places::{Place, Scene};
use crate::stage::{Finished, Running};

/// Names for as many members as start at once.
const NAMES: [&str; 8] = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"];

/// Longest pause before the next thing happens: by then one start is through, and eight are not.
const PAUSE: Duration = Duration::from_millis(900);

/// How many spawn one name at once.
const RIVALS: usize = 5;

/// Deletes a team by force at a moment at which one to eight spawns are under way, of which one may have been killed.
///
/// # Panics
/// When something is left, or a spawn says that a member is there that never was.
pub fn delete_under_spawns(programs: &Programs, seed: Seed) {
    let mut dice = Dice::new(seed);
    let scene = Scene::new(programs).with_team();
    let count = 1 + dice.below(NAMES.len());
    let mut spawning: Vec<Option<Running>> = Vec::new();
    for name in NAMES.iter().take(count) {
        let place = *dice.pick(&Place::ALL);
        spawning.push(Some(scene.spawn(name, place, &["--json"])));
    }
    dice.linger(PAUSE);
    if dice.below(2) == 0 {
        let victim = dice.below(count);
        kill(spawning[victim].take());
    }
    let keeps = dice.below(2) == 0;
    let more: &[&str] = if keeps { &[] } else { &["--purge"] };
    let place = *dice.pick(&[Place::Split, Place::Headless]);
    let deleted = scene.delete(place, more);
    let ended: Vec<Finished> = spawning.into_iter().flatten().map(Running::wait).collect();
    for spawned in &ended {
        assert!(
            matches!(spawned.code, Some(0 | 3 | 4)),
            "{}",
            spawned.story()
        );
        if spawned.code == Some(0) && keeps {
            let id = spawned.json()["spawnId"].clone();
            assert!(
                was_committed(&scene, &id),
                "{}\n{}",
                spawned.story(),
                deleted.story()
            );
        }
    }
    scene.assert_nothing_left();
    // A team of this name can be made again, and nothing of the old one is in it.
    scene.world.swarm(&["team", "create", "demo"]).ok();
    assert_eq!(scene.world.team("demo").names(), ["team-lead"]);
}

/// Whether the journal that was kept of the team knows of a commit.
fn was_committed(scene: &Scene, spawn_id: &Value) -> bool {
    let archives = std::fs::read_dir(scene.world.root().join("swarm/archive"));
    let journals = archives.into_iter().flatten().flatten();
    let mut lines = journals
        .filter_map(|archive| std::fs::read_to_string(archive.path().join("journal.jsonl")).ok());
    lines.any(|text| {
        let mut events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.any(|event| event["type"] == "spawn_committed" && event["spawnId"] == *spawn_id)
    })
}

/// Lets five commands spawn one name at once, of which some are killed. One member comes of it, or none.
///
/// # Panics
/// When there are two, or none can be started any more.
pub fn one_name(programs: &Programs, seed: Seed) {
    let mut dice = Dice::new(seed);
    let scene = Scene::new(programs).with_team();
    // A spawn that was cut short holds the name until its time is over.
    let patience = ["--timeout", "1", "--json"];
    let mut spawning: Vec<Option<Running>> = Vec::new();
    for _ in 0..RIVALS {
        let place = *dice.pick(&Place::ALL);
        spawning.push(Some(scene.spawn("ann", place, &patience)));
    }
    for _ in 0..=dice.below(3) {
        dice.linger(PAUSE / 4);
        let victim = dice.below(RIVALS);
        kill(spawning[victim].take());
    }
    let ended: Vec<Finished> = spawning.into_iter().flatten().map(Running::wait).collect();
    let mut ready = ended.iter().filter(|spawned| spawned.code == Some(0));
    let first = ready
        .next()
        .map(|spawned| spawned.json()["spawnId"].clone());
    assert!(
        ready.next().is_none(),
        "two say that it is theirs: {ended:#?}"
    );
    scene.assert_roster_is_true();
    if let Some(id) = first {
        let entry = scene.world.team("demo").member("ann");
        assert_eq!(
            entry.map(|entry| entry["swarm"]["spawnId"].clone()),
            Some(id)
        );
    }
    // Whoever comes next has one, and one only.
    let again = scene.spawn("ann", Place::Headless, &["--json"]).wait();
    assert!(matches!(again.code, Some(0 | 4)), "{}", again.story());
    scene.assert_roster_is_true();
    assert_eq!(scene.teammates().len(), 1, "{:?}", scene.teammates());
    scene.delete(Place::Split, &["--purge"]);
    scene.assert_nothing_left();
}

/// Lets two commands make one team at the same instant, and kills one of them. One team comes of it, or none, and it is whole.
///
/// # Panics
/// When it is not, or the name cannot be used any more.
pub fn twins(programs: &Programs, seed: Seed, rounds: usize) {
    let mut dice = Dice::new(seed);
    let scene = Scene::new(programs);
    let create = ["team", "create", "demo", "--json"];
    for round in 0..rounds {
        let mut twins = vec![scene.world.start(&create), scene.world.start(&create)];
        dice.linger(PAUSE / 30);
        let victim = twins.remove(dice.below(2));
        kill(Some(victim));
        let left = twins.remove(0).wait();
        assert!(
            matches!(left.code, Some(0 | 4)),
            "{round}: {}",
            left.story()
        );
        let is_there = scene.world.team("demo").directory().exists();
        assert!(
            is_there,
            "{round}: one of the two was left to make it\n{}",
            left.story()
        );
        scene.assert_whole();
        assert_eq!(scene.world.team("demo").names(), ["team-lead"], "{round}");
        scene.world.swarm(&create).error(4);
        scene
            .world
            .swarm(&["team", "delete", "demo", "--purge"])
            .ok();
        scene.assert_nothing_left();
        let halves = std::fs::read_dir(scene.world.root().join("teams"));
        let halves: Vec<_> = halves.into_iter().flatten().flatten().collect();
        assert!(halves.is_empty(), "{round}: {halves:?}");
    }
}

/// Kills a command, whether or not it has come to its end, and waits until the kernel is done with it.
fn kill(running: Option<Running>) {
    if let Some(running) = running {
        running.signal(Signal::KILL);
        running.wait();
    }
}
