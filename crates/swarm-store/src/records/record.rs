//! Types of what is in records and logs.

use std::marker::PhantomData;
use std::path::PathBuf;

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
pub(super) trait Value: Serialize + DeserializeOwned {}

impl<V: Serialize + DeserializeOwned> Value for V {}

/// A value, and what its changes append to logs and have not appended yet. They are written
/// together, so that no change is without its event and events have the order of the changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Versioned<V> {
    pub(super) value: V,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) outbox: Vec<(WriteId, Outgoing)>,
}

/// An entry for a log.
#[derive(Debug, Serialize, Deserialize)]
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
