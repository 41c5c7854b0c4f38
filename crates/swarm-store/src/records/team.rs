//! One team, and how its records change.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::{Clock, TeamName, UnixMs};
use uuid::Uuid;

use super::call::{Call, Patience};
use super::key::Key;
use super::record::{Outbox, Outgoing, Record, Value, Versioned, from_bytes, joined, to_bytes};
use super::seen::{Known, LastReading, Reading, Seen};
use super::space::{Answered, Appending, NewEntry, NoAnswer, NotWritten, Space};
use super::values;
use crate::file::Layout;
use crate::observer::Observer;
use crate::{Result, StoreError, StoreLimits};

/// Pause before a request that was repeated is repeated again: each may have failed immediately.
const AGAIN: Duration = Duration::from_millis(50);

/// Most entries that are appended by one request, which has to be answered in time.
const AT_ONCE: usize = 256;

/// Published entries that stay in a record until its next change.
const MANY: usize = 64;

/// The handle of a team, which need not exist.
#[derive(Debug, Clone)]
pub(crate) struct RecordsTeam {
    pub(super) team: TeamName,
    pub(super) space: Arc<dyn Space>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: StoreLimits,
    pub(super) local: Local,
    pub(super) observer: Observer,
    pub(super) patience: Patience,
    pub(super) call: Call,
    pub(super) seen: Arc<Seen>,
    /// The nodes of the same server.
    pub(super) nodes: Arc<dyn Space>,
}

/// Directories on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    /// The members' own files and plans are below it.
    pub(crate) layout: Layout,
}

impl RecordsTeam {
    pub(crate) fn new(
        team: TeamName,
        (space, nodes): (Arc<dyn Space>, Arc<dyn Space>),
        clock: Arc<dyn Clock>,
        limits: StoreLimits,
        local: Local,
        patience: Patience,
    ) -> Self {
        Self {
            team,
            space,
            clock,
            limits,
            local,
            observer: Observer::default(),
            call: Call::new(&patience, false),
            patience,
            seen: Arc::default(),
            nodes,
        }
    }

    /// Shares what is known of the team with other handles.
    pub(crate) fn with_known(mut self, known: Arc<Known>) -> Self {
        self.seen = Arc::new(Seen::new(known));
        self
    }

    /// Sets an observer of the events that this handle records.
    pub(crate) fn with_observer(mut self, observer: Observer) -> Self {
        self.observer = observer;
        self
    }

    /// Returns the error if the team does not exist. Its deletion may not have been heard of yet.
    pub(super) fn require(&self) -> Result<()> {
        self.roster_seen().map(drop)
    }

    pub(super) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// Returns the server's time: clocks of machines differ.
    pub(super) fn server_time(&self) -> Result<UnixMs> {
        self.answered(false, |at_most| self.space.time(at_most))
    }

    pub(super) fn read<V: Value>(&self, record: &Record<V>) -> Result<V> {
        Ok(self.fetch(record)?.1.value)
    }

    /// Reads a record, and has appended to logs what its writers did not.
    pub(super) fn read_published<V: Value>(&self, record: &Record<V>) -> Result<V> {
        let (revision, found) = self.fetch(record)?;
        self.publish(&record.key, revision, &found)?;
        Ok(found.value)
    }

    /// Reads a record. If this handle watches it, the server is asked only after a change was heard.
    pub(super) fn read_watched<V: Value>(&self, record: &Record<V>) -> Result<V> {
        match self.seen.kept::<V>(&record.key) {
            Some((_, kept)) => Ok(kept.value.clone()),
            None => self.read(record),
        }
    }

    /// Returns the value of a key. It is only read again after a change was heard.
    pub(super) fn as_heard<T: Clone>(
        &self,
        last: &LastReading<T>,
        key: Key,
        read: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(reading) = &*last.lock()
            && reading.is_current()
        {
            return Ok(reading.value.clone());
        }
        // Only then nothing is missed between the two.
        self.answered(false, |at_most| self.space.connect(at_most))?;
        let reading = Reading::new(self.space.heard(&[key]), read)?;
        let value = reading.value.clone();
        *last.lock() = Some(reading);
        Ok(value)
    }

    /// Changes a record: `edit` gets its value and adds the events of the change. If the record
    /// changes meanwhile, `edit` is repeated with the new value. What it checks in other records
    /// holds at the time of the write if a change of those is followed by a write of this record.
    /// The first attempt needs no request for a watched record of which nothing was heard.
    pub(super) fn change<V: Value, R>(
        &self,
        record: &Record<V>,
        mut edit: impl FnMut(&mut V, &mut Outbox) -> Result<R>,
    ) -> Result<R> {
        self.space.require_leases()?;
        let key = &record.key;
        let mut is_repetition = false;
        let mut kept = self.seen.kept(key);
        loop {
            let kept = kept.take();
            let is_kept = kept.is_some();
            let (revision, mut found) = match kept {
                Some((revision, kept)) => (revision, Versioned::clone(&kept)),
                None => self.fetch(record)?,
            };
            let publishing = self.begin_publish(key, revision, &found)?;
            let mut outbox = Outbox::new(self.now());
            let edited = edit(&mut found.value, &mut outbox);
            self.finish_publish(publishing)?;
            let result = match edited {
                // There may be a change that was not heard yet.
                Err(_) if is_kept => continue,
                Ok(_) if is_kept && outbox.changes_nothing => continue,
                result => result?,
            };
            if outbox.changes_nothing {
                return Ok(result);
            }
            found.outbox = outbox.entries;
            let value = to_bytes(key, &found)?;
            let before = self.seen.rings(key);
            if let Some(revision) = self.write(key, revision, &value, is_repetition)? {
                let is_published = self.publish_now(key, revision, &found);
                if is_published && found.outbox.len() > MANY {
                    self.empty_outbox(key, revision, found);
                } else if let Some(before) = before {
                    if is_published {
                        found.outbox.clear();
                    }
                    self.seen.keep(key, revision, found, before);
                }
                return Ok(result);
            }
            is_repetition = true;
        }
    }

    /// Writes a record without what was published, so that its readers do not have to try again. After
    /// another change there is nothing to do.
    fn empty_outbox<V: Value>(&self, key: &Key, revision: u64, mut written: Versioned<V>) {
        written.outbox.clear();
        let emptied = to_bytes(key, &written);
        if let Err(error) = emptied.and_then(|value| self.write(key, revision, &value, true)) {
            tracing::debug!(%error, %key, "published events are left in the record");
        }
    }

    pub(super) fn fetch<V: Value>(&self, record: &Record<V>) -> Result<(u64, Versioned<V>)> {
        let key = &record.key;
        let before = self.seen.rings(key);
        let found = self.answered(false, |at_most| self.space.read(key, at_most))?;
        if let Some(stored) = found {
            let found: Versioned<V> = from_bytes(key, &stored.value)?;
            if let Some(before) = before {
                self.seen.keep(key, stored.revision, found.clone(), before);
            }
            return Ok((stored.revision, found));
        }
        let value = (record.initial)().ok_or_else(|| self.space.absent())?;
        let outbox = Vec::new();
        Ok((0, Versioned { value, outbox }))
    }

    /// Writes a record and returns its new revision; `None` if its revision was another one. A write
    /// that is not acknowledged is repeated.
    pub(super) fn write(
        &self,
        key: &Key,
        revision: u64,
        value: &[u8],
        mut is_repetition: bool,
    ) -> Result<Option<u64>> {
        let id = Uuid::new_v4();
        let mut is_known = true;
        loop {
            // An unacknowledged write may have been done, so it must be found out.
            if is_known {
                self.may_write(is_repetition)?;
            }
            let at_most = self.call.of_request(!is_known);
            match self.space.write(key, revision, id, value, at_most) {
                Ok(revision) => {
                    self.call.note_write();
                    return Ok(Some(revision));
                }
                Err(NotWritten::Conflict) => return Ok(None),
                Err(NotWritten::No(NoAnswer::Unanswered(_))) if self.call.may_repeat(true) => {
                    self.space.require_leases()?;
                    if !is_known {
                        self.pause();
                    }
                    (is_known, is_repetition) = (false, true);
                }
                Err(NotWritten::No(NoAnswer::Unanswered(error) | NoAnswer::Failed(error))) => {
                    return Err(error);
                }
            }
        }
    }

    /// Pauses before a request is repeated for the second time, or again. An interrupt does not end that.
    fn pause(&self) {
        if !self.space.is_local() {
            std::thread::park_timeout(AGAIN);
        }
    }

    /// Fails in an attempt that would have to wait for a server.
    pub(super) fn require_patience(&self) -> Result<()> {
        if self.space.is_local() || self.call.may_ask() {
            return Ok(());
        }
        Err(StoreError::Contended {
            team: self.team.clone(),
            waited: Duration::ZERO,
        })
    }

    pub(super) fn may_write(&self, is_repetition: bool) -> Result<()> {
        self.require_patience()?;
        self.space.require_leases()?;
        let may = self.call.may_write(&*self.space, is_repetition);
        may.map_err(|waited| StoreError::Contended {
            team: self.team.clone(),
            waited,
        })
    }

    /// Repeats a request until it is answered.
    pub(super) fn answered<T>(
        &self,
        changes: bool,
        request: impl Fn(Duration) -> Answered<T>,
    ) -> Result<T> {
        self.require_patience()?;
        let (mut may_be_done, mut is_repetition) = (false, false);
        loop {
            match request(self.call.of_request(may_be_done)) {
                Ok(answer) => return Ok(answer),
                Err(NoAnswer::Unanswered(_)) if self.call.may_repeat(may_be_done) => {
                    // A process that has lost its lease parks or exits, and does not wait for the server.
                    self.space.require_leases()?;
                    may_be_done = changes && self.space.was_connected();
                    if std::mem::replace(&mut is_repetition, true) {
                        self.pause();
                    }
                }
                Err(NoAnswer::Unanswered(error) | NoAnswer::Failed(error)) => {
                    if matches!(
                        error,
                        StoreError::NotOnHub { .. } | StoreError::TeamNotFound { .. }
                    ) {
                        self.seen.forget();
                    }
                    return Err(error);
                }
            }
        }
    }

    pub(super) fn append(&self, entries: &[NewEntry]) -> Result<()> {
        entries
            .chunks(AT_ONCE)
            .try_for_each(|some| self.answered(true, |at_most| self.space.append(some, at_most)))
    }

    /// Appends to logs what the writer of a record has to append, each entry once.
    fn publish<V>(&self, key: &Key, revision: u64, written: &Versioned<V>) -> Result<()> {
        let publishing = self.begin_publish(key, revision, written)?;
        self.finish_publish(publishing)
    }

    /// Does the same, except that the entries may not be stored yet. Until [`Self::finish_publish`],
    /// the caller can do something else.
    fn begin_publish<V>(
        &self,
        key: &Key,
        revision: u64,
        written: &Versioned<V>,
    ) -> Result<Publishing> {
        let (mut events, mut archived, mut letters) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (id, entry)) in written.outbox.iter().enumerate() {
            match entry {
                Outgoing::Event(entry) => events.push(values::journal().entry(*id, entry)?),
                Outgoing::Archived(name, entry) => {
                    archived.push(values::archive(name).entry(*id, entry)?);
                }
                Outgoing::Letter(letter) => letters.push((number, letter)),
            }
        }
        events.append(&mut archived);
        let entries = joined(events);
        let mut begun = None;
        if (1..=AT_ONCE).contains(&entries.len()) {
            self.require_patience()?;
            begun = Some(
                self.space
                    .begin_append(&entries, self.call.of_request(false)),
            );
        }
        letters.into_iter().try_for_each(|(number, letter)| {
            self.deliver_letter(key, (revision, number), letter)
        })?;
        Ok(Publishing { entries, begun })
    }

    fn finish_publish(&self, publishing: Publishing) -> Result<()> {
        match publishing.begun.map(|answer| answer()) {
            Some(Ok(())) => Ok(()),
            Some(Err(NoAnswer::Failed(_) | NoAnswer::Unanswered(_))) | None => {
                self.append(&publishing.entries)
            }
        }
    }

    /// Publishes after a change, which is done whatever happens to its events: the next reader appends
    /// those that are missing. Returns whether it succeeded.
    pub(super) fn publish_now<V>(&self, key: &Key, revision: u64, written: &Versioned<V>) -> bool {
        let published = self.publish(key, revision, written);
        if let Err(error) = &published {
            tracing::warn!(%error, "the journal is incomplete until the next change");
        }
        for (_, entry) in &written.outbox {
            if let Outgoing::Event(entry) = entry {
                self.observer.notify(&self.team, &entry.event);
            }
        }
        published.is_ok()
    }
}

/// Entries that are being appended to logs.
struct Publishing {
    entries: Vec<NewEntry>,
    /// `None` if it has not begun.
    begun: Option<Appending>,
}
