//! What was heard of a key.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::task::JoinHandle;

/// Most messages that are kept for a reader. A reader that needs others asks for them.
const KEPT: usize = 1024;

/// A task that listens to a key, or a prefix of keys.
#[derive(Debug)]
pub(super) struct Listening {
    task: JoinHandle<()>,
    /// Entries of the log of this key that have arrived and were perhaps not read.
    entries: BTreeMap<u64, Bytes>,
    /// The last one before them that is not there.
    missed: u64,
}

impl Listening {
    pub(super) fn new(task: JoinHandle<()>) -> Self {
        Self {
            task,
            entries: BTreeMap::new(),
            missed: 0,
        }
    }

    pub(super) fn end(self) {
        self.task.abort();
    }

    /// Adds an entry that has arrived; `None` if only its sequence number is known.
    pub(super) fn add(&mut self, at: u64, entry: Option<Bytes>) {
        match entry {
            Some(entry) if self.entries.len() < KEPT => drop(self.entries.insert(at, entry)),
            _ => {
                self.entries.clear();
                self.missed = at;
            }
        }
    }

    /// Forgets all entries: others may have been missed.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the entries after a sequence number, and forgets older ones. None is missing among them
    /// since the last gap.
    pub(super) fn after(&mut self, from: u64) -> Vec<(u64, Vec<u8>)> {
        self.entries = self.entries.split_off(&(from + 1));
        if from < self.missed {
            return Vec::new();
        }
        // Another reader may need the forgotten ones.
        self.missed = from;
        let entries = self.entries.iter();
        entries.map(|(at, entry)| (*at, entry.to_vec())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_behind_another_one_is_not_given_a_part() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut heard = Listening::new(runtime.spawn(async {}));
        for at in 1..=3 {
            heard.add(at, Some(Bytes::from_static(b"entry")));
        }
        let at = |entries: Vec<(u64, Vec<u8>)>| -> Vec<u64> {
            entries.into_iter().map(|(at, _)| at).collect()
        };
        assert_eq!(at(heard.after(0)), [1, 2, 3]);
        assert_eq!(at(heard.after(2)), [3]);
        assert!(heard.after(0).is_empty(), "it asks for all");
        assert_eq!(at(heard.after(2)), [3]);
    }
}
