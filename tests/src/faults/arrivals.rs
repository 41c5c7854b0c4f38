//! Checks what has arrived of the messages of several writers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use swarm_protocol::MessageId;

use super::log::{lines, path_of};
use super::worker::{READER, read, transcript_of};

/// Numbers of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arrivals {
    /// Acknowledged sends.
    pub(super) acknowledged: usize,
    /// Interrupted sends.
    pub(super) cut: usize,
    /// Interrupted sends that arrived.
    pub(super) cut_but_there: usize,
}

/// Compares the reader's transcript with the logs of the writers and with the ids of the messages that
/// the inbox and its archive have.
///
/// # Panics
/// If a message is lost, or was taken twice, or is out of order.
pub(super) fn arrivals(logs: &Path, writers: &[String], kept: &HashSet<MessageId>) -> Arrivals {
    let mut found = Arrivals::default();
    let transcript = read(&transcript_of(&path_of(logs, READER))).expect("a transcript");
    let mut seen: HashMap<&MessageId, usize> = HashMap::new();
    let mut orders: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (id, from, text) in &transcript {
        *seen.entry(id).or_default() += 1;
        let number = text.split(' ').nth(1).and_then(|word| word.parse().ok());
        orders
            .entry(from)
            .or_default()
            .push(number.expect("a number"));
    }
    assert!(
        seen.values().all(|count| *count == 1),
        "a message was taken twice"
    );
    for (from, order) in &orders {
        assert!(
            order.is_sorted_by(|a, b| a < b),
            "{from} is out of order: {order:?}"
        );
    }
    for writer in writers {
        let said = lines(&path_of(logs, writer));
        let begun: HashSet<u64> = said
            .iter()
            .filter(|line| line.word(0) == "begin")
            .map(|line| line.number(1))
            .collect();
        let sent: HashMap<u64, MessageId> = said
            .iter()
            .filter(|line| line.word(0) == "sent")
            .map(|line| (line.number(1), MessageId::new(line.word(2))))
            .collect();
        for (number, id) in &sent {
            assert!(
                seen.contains_key(id),
                "{writer} was told that {number} is sent, and it is lost"
            );
            assert!(kept.contains(id), "{writer}'s {number} is not stored");
        }
        let arrived: HashSet<u64> = orders
            .get(writer.as_str())
            .into_iter()
            .flatten()
            .copied()
            .collect();
        assert!(
            arrived.is_subset(&begun),
            "{writer} never sent {:?}",
            arrived.difference(&begun)
        );
        found.acknowledged += sent.len();
        found.cut += begun.len() - sent.len();
        found.cut_but_there += arrived.len() - sent.len();
    }
    found
}
