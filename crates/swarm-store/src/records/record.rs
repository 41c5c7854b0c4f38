//! Types of what is in records and logs.

use std::marker::PhantomData;
use std::path::PathBuf;

use memchr::memmem;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use swarm_protocol::{Event, InboxEntry, JournalEntry, MemberName, UnixMs};
use uuid::Uuid;

use super::key::Key;
use super::space::{NewEntry, WriteId};
use crate::tasks::Letter;
use crate::{Result, StoreError};

/// The key of a record with values of one type.
#[derive(Debug)]
pub(super) struct Record<V> {
    pub(super) key: Key,
    /// Returns the value while the record does not exist; `None` if the team does not exist then.
    pub(super) initial: fn() -> Option<V>,
}

/// The key of a log with entries of one type.
#[derive(Debug)]
pub(super) struct Log<T> {
    pub(super) key: Key,
    of: PhantomData<fn() -> T>,
}

/// The value of a record.
pub(super) trait Value:
    Clone + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<V: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Value for V {}

/// A value, and what its changes append to logs and have not appended yet. They are written
/// together, so that no change is without its event and events have the order of the changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Versioned<V> {
    pub(super) value: V,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) outbox: Vec<(WriteId, Outgoing)>,
}

/// An entry for a log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Outgoing {
    Event(Box<JournalEntry>),
    /// An acknowledged message leaves the inbox.
    Archived(MemberName, Box<InboxEntry>),
    /// A message is sent.
    Letter(Box<Letter>),
}

/// What a change appends to logs.
#[derive(Debug)]
pub(super) struct Outbox {
    at: UnixMs,
    pub(super) entries: Vec<(WriteId, Outgoing)>,
    /// The record need not be written.
    pub(super) changes_nothing: bool,
}

impl Outbox {
    pub(super) fn new(at: UnixMs) -> Self {
        Self {
            at,
            entries: Vec::new(),
            changes_nothing: false,
        }
    }

    pub(super) fn push(&mut self, event: Event) {
        self.extend([event]);
    }

    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        let at = self.at;
        let events = events.into_iter();
        let entries = events.map(|event| Outgoing::Event(Box::new(JournalEntry { at, event })));
        self.entries
            .extend(entries.map(|entry| (Uuid::new_v4(), entry)));
    }

    pub(super) fn send(&mut self, letter: Letter) {
        let entry = Outgoing::Letter(Box::new(letter));
        self.entries.push((Uuid::new_v4(), entry));
    }

    pub(super) fn archive(&mut self, name: &MemberName, entry: InboxEntry) {
        let entry = Outgoing::Archived(name.clone(), Box::new(entry));
        self.entries.push((Uuid::new_v4(), entry));
    }
}

impl<V> Record<V> {
    /// Returns the key of a record that is written when the team is created.
    pub(super) fn of_every_team(words: &str) -> Self {
        Self {
            key: Key::new(format!("record.{words}")),
            initial: || None,
        }
    }
}

impl<V: Default> Record<V> {
    pub(super) fn new(words: &str) -> Self {
        Self {
            initial: || Some(V::default()),
            ..Self::of_every_team(words)
        }
    }
}

impl<T: Serialize> Log<T> {
    /// Returns an entry for the log.
    pub(super) fn entry(&self, id: WriteId, entry: &T) -> Result<NewEntry> {
        Ok((self.key.clone(), id, to_bytes(&self.key, entry)?))
    }
}

/// Bytes of an entry that gets no more lines.
const FULL_ENTRY: usize = 32 * 1024;

/// Joins successive entries of the same log to ones with several lines, because each costs the server
/// as much as thousands of bytes. The result depends on nothing else, and the IDs are those of the first
/// lines, so that a repetition appends nothing twice.
pub(super) fn joined(entries: Vec<NewEntry>) -> Vec<NewEntry> {
    let mut joined: Vec<NewEntry> = Vec::new();
    for (log, id, line) in entries {
        match joined.last_mut() {
            Some((last, _, lines)) if *last == log && lines.len() < FULL_ENTRY => {
                lines.push(b'\n');
                lines.extend(line);
            }
            _ => joined.push((log, id, line)),
        }
    }
    joined
}

impl<T: DeserializeOwned> Log<T> {
    /// Returns the lines of an entry that contain `text`.
    pub(super) fn lines(&self, entry: &[u8], text: &str) -> Result<Vec<T>> {
        let lines = entry.split(|byte| *byte == b'\n');
        lines
            .filter(|line| memmem::find(line, text.as_bytes()).is_some())
            .map(|line| from_bytes(&self.key, line))
            .collect()
    }
}

impl<T> Log<T> {
    pub(super) fn new(words: &str) -> Self {
        let key = Key::new(format!("log.{words}"));
        Self {
            key,
            of: PhantomData,
        }
    }
}

pub(super) fn to_bytes(key: &Key, value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|source| StoreError::Unwritable {
        path: PathBuf::from(key.as_str()),
        source,
    })
}

pub(super) fn from_bytes<V: DeserializeOwned>(key: &Key, bytes: &[u8]) -> Result<V> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Damaged {
        path: PathBuf::from(key.as_str()),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successive_lines_of_a_log_are_one_entry_until_it_is_large() {
        let (ones, others) = (Log::<String>::new("ones"), Log::<String>::new("others"));
        let line = |log: &Log<String>, text: &str| {
            let id = Uuid::new_v4();
            log.entry(id, &text.to_owned()).unwrap()
        };
        let long = "long\n".repeat(FULL_ENTRY / 5);
        let lines = vec![
            line(&ones, "a"),
            line(&ones, &long),
            line(&ones, "b"),
            line(&others, "c"),
            line(&ones, "d"),
        ];
        let ids = [0, 2, 3, 4].map(|first| lines[first].1);
        let entries = joined(lines);
        assert_eq!(entries.iter().map(|entry| entry.1).collect::<Vec<_>>(), ids);
        let lines = entries.iter().map(|(_, _, entry)| ones.lines(entry, ""));
        let lines: Vec<Vec<String>> = lines.collect::<Result<_>>().unwrap();
        let expected: [&[&str]; 4] = [&["a", &long], &["b"], &["c"], &["d"]];
        assert_eq!(lines, expected);
    }
}
