//! What a handle has read lately. It counts as long as nothing else is heard, so that most sends read
//! nothing. What is heard can be late by the time of an announcement; lost ones are made up for within
//! seconds, because all watchers are woken then.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{MemberName, TeamConfig};

use super::bell::{Heard, Rings};
use crate::Result;

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) roster: Mutex<Option<Reading<Arc<TeamConfig>>>>,
    /// Numbers of unread entries.
    pub(super) unread: Mutex<BTreeMap<MemberName, Reading<usize>>>,
}

/// A value that was read, and what was heard of it before.
#[derive(Debug)]
pub(super) struct Reading<T> {
    pub(super) value: T,
    heard: Heard,
    before: Option<Rings>,
}

impl<T> Reading<T> {
    /// `heard` is about what is read.
    pub(super) fn new(heard: Heard, read: impl FnOnce() -> Result<T>) -> Result<Self> {
        let before = heard.rings();
        let value = read()?;
        Ok(Self {
            value,
            heard,
            before,
        })
    }

    /// Returns how many writes were heard since; `None` if some may have been missed.
    pub(super) fn writes_since(&self) -> Option<u64> {
        let (before, now) = (self.before?, self.heard.rings()?);
        (before.gaps == now.gaps).then(|| now.writes - before.writes)
    }
}
