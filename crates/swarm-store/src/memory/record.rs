//! What a memory store is made of: records with revisions, and logs.

use std::collections::HashSet;
use std::fmt::{self, Debug};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::Event;
use uuid::Uuid;

use super::bell::Bell;
use super::faults::{Fault, Faults};

/// Identifies a write, so that a repetition of it is recognized.
pub(super) type WriteId = Uuid;

/// Why a write is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotWritten {
    /// The record has another revision.
    Conflict,
    /// The write may have been done. Repeating it is safe.
    Unacknowledged,
}

/// A value with its revision. A write names the revision that it replaces.
pub(super) struct Record<T> {
    revisions: Mutex<Revisions<T>>,
    bell: Bell,
}

struct Revisions<T> {
    revision: u64,
    value: Arc<Versioned<T>>,
    written: HashSet<WriteId>,
}

/// A value, and the events of its changes that are not in the journal yet. They are written
/// together, so that no change is without its event and events have the order of the changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Versioned<T> {
    pub(super) value: T,
    pub(super) outbox: Vec<(WriteId, Event)>,
}

/// Shows the value only, so that records can be compared.
impl<T: Debug> Debug for Record<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.revisions.lock().value.value.fmt(f)
    }
}

/// Shows the entries only.
impl<T: Debug> Debug for Log<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.lock().entries.fmt(f)
    }
}

impl<T> Record<T> {
    pub(super) fn new(value: T) -> Self {
        let outbox = Vec::new();
        Self {
            revisions: Mutex::new(Revisions {
                revision: 0,
                value: Arc::new(Versioned { value, outbox }),
                written: HashSet::new(),
            }),
            bell: Bell::default(),
        }
    }

    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    pub(super) fn read(&self, faults: &Faults) -> (u64, Arc<Versioned<T>>) {
        faults.delay();
        let now = self.revisions.lock();
        (now.revision, Arc::clone(&now.value))
    }

    /// Replaces the value of a revision.
    pub(super) fn write(
        &self,
        faults: &Faults,
        revision: u64,
        id: WriteId,
        value: &Arc<Versioned<T>>,
    ) -> Result<(), NotWritten> {
        faults.delay();
        let fault = faults.of_write();
        if fault != Fault::LostRequest {
            let mut now = self.revisions.lock();
            if !now.written.contains(&id) {
                if fault == Fault::Conflict || now.revision != revision {
                    return Err(NotWritten::Conflict);
                }
                now.revision += 1;
                now.value = Arc::clone(value);
                now.written.insert(id);
                self.bell.ring();
            }
        }
        faults.delay();
        match fault {
            Fault::LostRequest | Fault::LostAcknowledgement => Err(NotWritten::Unacknowledged),
            Fault::None | Fault::Conflict => Ok(()),
        }
    }
}

/// Entries in the order in which they were appended.
pub(super) struct Log<T> {
    log: Mutex<Entries<T>>,
    bell: Bell,
}

struct Entries<T> {
    entries: Vec<T>,
    appended: HashSet<WriteId>,
}

impl<T: Clone> Log<T> {
    pub(super) fn new() -> Self {
        Self {
            log: Mutex::new(Entries {
                entries: Vec::new(),
                appended: HashSet::new(),
            }),
            bell: Bell::default(),
        }
    }

    /// Appends an entry unless this write was already done.
    pub(super) fn append(&self, faults: &Faults, id: WriteId, entry: T) {
        loop {
            faults.delay();
            let fault = faults.of_write();
            if fault != Fault::LostRequest {
                let mut log = self.log.lock();
                if log.appended.insert(id) {
                    log.entries.push(entry.clone());
                    self.bell.ring();
                }
            }
            if !matches!(fault, Fault::LostRequest | Fault::LostAcknowledgement) {
                return;
            }
        }
    }

    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Returns the entries from a position.
    pub(super) fn from(&self, faults: &Faults, from: u64) -> Vec<T> {
        faults.delay();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let log = self.log.lock();
        log.entries.get(from..).unwrap_or_default().to_vec()
    }
}
