//! Writers killed at random moments.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use swarm_protocol::{TaskId, TeamConfig};
use swarm_store::BlockOn as _;
use uuid::Uuid;

use crate::files::children::{Child, MANY};
use crate::files::world::{Ends, World, message_ids, name};
use crate::values::killed;

/// Number of kills in one test.
const DEATHS: usize = 25;

/// Kills a child at a random point between its first and twentieth line.
fn run_and_kill(role: &str, world: &World, called: &str) -> Vec<String> {
    let mut child = Child::start(role, &world.root, called);
    let words = 1 + Uuid::new_v4().as_u128() % 20;
    let mut said: Vec<String> = (0..words).filter_map(|_| child.hear()).collect();
    linger();
    said.extend(child.kill());
    said
}

/// Waits a random time, because the lines alone would always mark the same points.
fn linger() {
    for _ in 0..Uuid::new_v4().as_u128() % 40 {
        thread::yield_now();
        for _ in 0..Uuid::new_v4().as_u128() % 40_000 {
            std::hint::spin_loop();
        }
    }
}

fn assert_json(path: &Path) {
    if let Ok(bytes) = fs::read(path) {
        let parsed: Result<Value, _> = serde_json::from_slice(&bytes);
        assert!(parsed.is_ok(), "{} is torn: {parsed:?}", path.display());
    }
}

/// Checks the invariants of the team's files.
fn assert_whole(world: &World) {
    for path in world.files().into_keys() {
        let hidden = path.file_name().unwrap().to_string_lossy().starts_with('.');
        if !hidden && path.extension().is_some_and(|ending| ending == "json") {
            assert_json(&path);
        }
    }
}

/// Every edge is recorded on both sides.
fn assert_edges_agree(world: &World) {
    let list = world.handle().tasks().block_on().unwrap();
    assert!(list.broken.is_empty(), "{:?}", list.broken);
    let known: BTreeSet<TaskId> = list.tasks.iter().map(|task| task.id).collect();
    let mut forward = BTreeSet::new();
    let mut backward = BTreeSet::new();
    for task in &list.tasks {
        forward.extend(task.blocked_by.iter().map(|blocker| (*blocker, task.id)));
        backward.extend(task.blocks.iter().map(|blocked| (task.id, *blocked)));
    }
    assert_eq!(forward, backward);
    assert!(
        forward
            .iter()
            .all(|(a, b)| known.contains(a) && known.contains(b))
    );
}

#[test]
fn d15_no_file_is_ever_torn_and_no_promise_broken_under_kill() {
    let world = World::with_member("writer");
    let is_over = AtomicBool::new(false);
    let inbox = world.inbox_path("writer");
    let sent: Vec<String> = thread::scope(|scope| {
        let looker = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                assert_json(&inbox);
                assert_json(&world.file("config.json"));
                thread::yield_now();
            }
        });
        let ends = Ends(&is_over);
        let mut sent = Vec::new();
        for _ in 0..DEATHS {
            let said = run_and_kill("hammers", &world, "writer");
            sent.extend(said.into_iter().filter(|word| word.starts_with("sent ")));
            assert_whole(&world);
            assert_edges_agree(&world);
        }
        drop(ends);
        looker.join().unwrap();
        sent
    });
    let archive = world.file("swarm/archive/writer.jsonl");
    let in_file = message_ids(&inbox);
    let mut found: HashMap<String, usize> = HashMap::new();
    for id in &in_file {
        *found.entry(format!("sent {id}")).or_default() += 1;
    }
    assert!(found.values().all(|count| *count == 1));
    for id in message_ids(&archive) {
        found.entry(format!("sent {id}")).or_insert(1);
    }
    assert!(sent.len() >= DEATHS);
    for promise in sent {
        assert!(found.contains_key(&promise), "{promise}, and it is gone");
    }
    assert!(world.handle().config().block_on().is_ok());
}

#[test]
fn tasks_of_one_call_are_made_all_or_none_under_kill() {
    for _ in 0..DEATHS {
        let world = World::new();
        let mut child = Child::start("makes many", &world.root, "maker");
        child.hear_ready();
        // Most of its time is spent between the file writes of one call.
        linger();
        let made = child.kill().len();
        assert_edges_agree(&world);
        let count = world.handle().tasks().block_on().unwrap().tasks.len();
        assert_eq!(count % MANY, 0, "a call was carried out in part");
        assert!(count >= made * MANY);
    }
}

#[test]
fn the_roster_and_the_next_writer_are_unharmed_under_kill() {
    let world = World::with_member("steady");
    for _ in 0..DEATHS / 2 {
        run_and_kill("churns the roster", &world, "fickle");
        assert_whole(&world);
        let config: TeamConfig = world.handle().config().block_on().unwrap();
        assert!(config.member(&name("steady")).is_some());
        // Another member can continue from any state that the dead one left.
        world
            .handle()
            .remove_member(&name("fickle"), None)
            .block_on()
            .unwrap();
        let spawn = world.join("fickle");
        world
            .handle()
            .remove_member(&name("fickle"), Some(&killed(spawn)))
            .block_on()
            .unwrap();
    }
}
