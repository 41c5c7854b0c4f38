//! What a handle has read lately. It counts as long as nothing else is heard, so that most sends read
//! nothing. What is heard can be late by the time of an announcement; lost ones are made up for within
//! seconds, because [`Space::heard`] changes then.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{InboxEntry, MemberName, TeamConfig};

use super::bell::{Heard, Rings};
use super::space::Key;
use super::team::RecordsTeam;
use super::values;
use crate::Result;
use crate::roster::member_of;

#[derive(Debug, Default)]
pub(super) struct Seen {
    roster: Mutex<Option<Reading<Arc<TeamConfig>>>>,
    /// Numbers of unread entries.
    unread: Mutex<BTreeMap<MemberName, Reading<usize>>>,
}

/// A value that was read, and what was heard of it before.
#[derive(Debug)]
struct Reading<T> {
    value: T,
    heard: Heard,
    before: Option<Rings>,
}

impl<T> Reading<T> {
    fn new(team: &RecordsTeam, keys: &[Key], read: impl FnOnce() -> Result<T>) -> Result<Self> {
        let heard = team.space.heard(keys);
        let before = heard.rings();
        let value = read()?;
        Ok(Self {
            value,
            heard,
            before,
        })
    }

    /// Returns how many writes were heard since; `None` if some may have been missed.
    fn writes_since(&self) -> Option<u64> {
        let (before, now) = (self.before?, self.heard.rings()?);
        (before.gaps == now.gaps).then(|| now.writes - before.writes)
    }
}

impl RecordsTeam {
    pub(super) fn roster_seen(&self) -> Result<Arc<TeamConfig>> {
        if let Some(reading) = &*self.seen.roster.lock()
            && reading.writes_since() == Some(0)
        {
            return Ok(Arc::clone(&reading.value));
        }
        let read = || self.config().map(Arc::new);
        let reading = Reading::new(self, &[values::roster().key], read)?;
        let roster = Arc::clone(&reading.value);
        *self.seen.roster.lock() = Some(reading);
        Ok(roster)
    }

    /// Accepts members. One that was removed is accepted until that is heard.
    pub(super) fn require_recipient(&self, name: &MemberName) -> Result<()> {
        let seen = self.roster_seen()?;
        if member_of(&self.team, &seen, name).is_err() {
            // It may have joined since.
            member_of(&self.team, &self.config()?, name)?;
        }
        Ok(())
    }

    /// Refuses a message for a full inbox. Messages count once they are heard; until the inbox seems
    /// full, acknowledgements do not.
    pub(super) fn refuse_if_seen_full(&self, to: &MemberName, entry: &InboxEntry) -> Result<()> {
        let accepts = |unread| self.limits.refuse_if_full(unread, to, entry);
        let at_most = |reading: &Reading<usize>| {
            let writes = usize::try_from(reading.writes_since()?).ok()?;
            Some(reading.value + writes)
        };
        let seen = self.seen.unread.lock().get(to).and_then(at_most);
        if accepts(seen.unwrap_or(usize::MAX)).is_ok() {
            return Ok(());
        }
        let read = || Ok(self.take_unread(to)?.len());
        let reading = Reading::new(self, &values::mail_of(to), read)?;
        let unread = reading.value;
        self.seen.unread.lock().insert(to.clone(), reading);
        accepts(unread)
    }
}
