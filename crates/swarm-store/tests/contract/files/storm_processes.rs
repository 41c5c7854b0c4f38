//! Many processes on the same files.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use swarm_protocol::{MessageId, TaskStatus};
use swarm_store::BlockOn as _;

use crate::files::children::Child;
use crate::files::world::{Ends, World, message_ids, name, new_task};

fn start_all(role: &str, world: &World, count: usize) -> Vec<Child> {
    let mut children: Vec<Child> = (0..count)
        .map(|number| Child::start(role, &world.root, &format!("w{number}")))
        .collect();
    children.iter_mut().for_each(Child::hear_ready);
    children.iter_mut().for_each(Child::go_on);
    children
}

/// Reads and acknowledges until the end is signalled; returns the acknowledged IDs in order.
fn read_all(world: &World, is_over: &AtomicBool) -> Vec<MessageId> {
    let reader = name("reader");
    let mut acked = Vec::new();
    loop {
        let last_round = is_over.load(Ordering::SeqCst);
        let unread = world.unread("reader");
        let ids: Vec<_> = unread
            .into_iter()
            .filter_map(|entry| entry.msg_id)
            .collect();
        acked.extend(world.handle().ack(&reader, &ids).block_on().unwrap());
        if last_round {
            return acked;
        }
    }
}

#[test]
fn d1_eight_senders_and_a_reader_lose_no_message_and_double_none() {
    let world = World::with_member("reader");
    let is_over = AtomicBool::new(false);
    let path = world.inbox_path("reader");
    let (sent, acked) = thread::scope(|scope| {
        let reader = scope.spawn(|| read_all(&world, &is_over));
        let looker = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                // The file is created by the first send.
                if let Ok(bytes) = fs::read(&path) {
                    serde_json::from_slice::<Vec<Value>>(&bytes).expect("half a file was seen");
                }
                thread::yield_now();
            }
        });
        let ends = Ends(&is_over);
        let senders = start_all("sends 50", &world, 8);
        let sent: Vec<String> = senders.into_iter().flat_map(Child::finish).collect();
        drop(ends);
        looker.join().unwrap();
        (sent, reader.join().unwrap())
    });
    let promised: HashSet<String> = sent
        .iter()
        .map(|said| said.strip_prefix("sent ").unwrap().to_owned())
        .collect();
    assert_eq!(promised.len(), 400);
    let arrived: HashSet<String> = acked.iter().map(ToString::to_string).collect();
    assert_eq!(acked.len(), 400, "none is acknowledged twice");
    assert_eq!(arrived, promised);
    // Each message is also on disk exactly once, in the inbox or in the archive.
    let mut kept = message_ids(&path);
    kept.extend(message_ids(&world.file("swarm/archive/reader.jsonl")));
    assert_eq!(kept.len(), 400);
    assert_eq!(kept.into_iter().collect::<HashSet<_>>().len(), 400);
}

#[test]
fn d1_the_messages_of_each_sender_stay_in_order() {
    let world = World::with_member("reader");
    for sender in start_all("sends 50", &world, 4) {
        sender.finish();
    }
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    for entry in world.unread("reader") {
        let number: u32 = entry.text.split(' ').nth(1).unwrap().parse().unwrap();
        let before = last.insert(entry.from, number);
        assert!(before.is_none_or(|before| before < number));
    }
    assert_eq!(last.len(), 4);
}

fn with_a_hundred_tasks() -> World {
    let world = World::new();
    let new: Vec<_> = (0..100).map(|n| new_task(&format!("{n}"), &[])).collect();
    world
        .handle()
        .create_tasks(&new, &world.person())
        .block_on()
        .unwrap();
    world
}

/// Returns the task of each `won N`, with its winner.
fn winners(said: &[(String, Vec<String>)]) -> BTreeMap<u64, Vec<&str>> {
    let mut winners: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for (called, words) in said {
        for number in words.iter().filter_map(|word| word.strip_prefix("won ")) {
            let won = winners.entry(number.parse().unwrap()).or_default();
            won.push(called);
        }
    }
    winners
}

fn race(role: &str, world: &World) -> Vec<(String, Vec<String>)> {
    let racers = start_all(role, world, 16);
    let racers = racers.into_iter().enumerate();
    racers
        .map(|(number, racer)| (format!("w{number}"), racer.finish()))
        .collect()
}

fn assert_one_winner_each(world: &World, said: &[(String, Vec<String>)]) {
    let winners = winners(said);
    assert_eq!(winners.len(), 100);
    for task in world.handle().tasks().block_on().unwrap().tasks {
        let won = &winners[&task.id.number()];
        assert_eq!(won.len(), 1, "task {} was won by {won:?}", task.id);
        assert_eq!(task.owner.as_deref(), Some(won[0]));
        assert_eq!(task.status, TaskStatus::InProgress);
        assert_eq!(task.swarm().version, 1);
    }
}

#[test]
fn t1_sixteen_processes_race_for_each_of_a_hundred_tasks() {
    for _round in 0..2 {
        let world = with_a_hundred_tasks();
        let said = race("claims each", &world);
        assert_one_winner_each(&world, &said);
        let winners = winners(&said);
        let mut losses = 0;
        for word in said.iter().flat_map(|(_, words)| words) {
            if let Some(lost) = word.strip_prefix("lost ") {
                let (number, owner) = lost.split_once(' ').unwrap();
                assert_eq!(winners[&number.parse().unwrap()], [owner]);
                losses += 1;
            }
        }
        assert_eq!(losses, 15 * 100);
    }
}

#[test]
fn t1_sixteen_processes_share_a_hundred_tasks_by_taking_the_next() {
    for _round in 0..2 {
        let world = with_a_hundred_tasks();
        let said = race("claims next", &world);
        assert_one_winner_each(&world, &said);
    }
}
