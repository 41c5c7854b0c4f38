//! Concurrent commands on one object, some of them killed.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::super::dice::{Dice, Seed};
use super::super::workers::Programs;
use super::places::{Place, Scene};
use crate::stage::{Finished, Running};

/// Names of the members that start concurrently.
const NAMES: [&str; 8] = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"];

/// Maximum pause before the next step: by then one spawn has finished, and eight have not.
const PAUSE: Duration = Duration::from_millis(900);

/// Number of concurrent spawns of one name.
const RIVALS: usize = 5;

/// Deletes a team by force while one to eight spawns are in progress, one of which may have been
/// killed.
///
/// # Panics
/// If something is left, or a spawn reports a member that never existed.
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
    // The name can be reused, and the new team contains nothing of the old one.
    scene.world.swarm(&["team", "create", "demo"]).ok();
    assert_eq!(scene.world.team("demo").names(), ["team-lead"]);
}

/// Returns whether the preserved journal of the team contains a commit.
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

/// Runs five concurrent spawns of one name, some of which are killed. The result is one member or
/// none.
///
/// # Panics
/// If there are two, or none can be started any more.
pub fn one_name(programs: &Programs, seed: Seed) {
    let mut dice = Dice::new(seed);
    let scene = Scene::new(programs).with_team();
    // An interrupted spawn holds the name until it expires.
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
    // The next spawn succeeds exactly once.
    let again = scene.spawn("ann", Place::Headless, &["--json"]).wait();
    assert!(matches!(again.code, Some(0 | 4)), "{}", again.story());
    scene.assert_roster_is_true();
    assert_eq!(scene.teammates().len(), 1, "{:?}", scene.teammates());
    scene.delete(Place::Split, &["--purge"]);
    scene.assert_nothing_left();
}

/// Creates one team by two concurrent commands, and kills one of them. The result is one complete
/// team or none.
///
/// # Panics
/// Otherwise, or if the name cannot be used any more.
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

/// Kills a command, whether or not it has finished, and waits for it.
fn kill(running: Option<Running>) {
    if let Some(running) = running {
        running.signal(Signal::KILL);
        running.wait();
    }
}
