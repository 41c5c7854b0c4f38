//! What a handle has read lately. It counts as long as nothing newer is heard, so that most operations
//! read nothing first. What is heard can be late by the time of an announcement; lost ones are made up
//! for within seconds, because all watchers are woken then.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_protocol::{Budgets, InboxEntry, Member, MemberName, Task, TeamConfig};

use super::bell::{Heard, Rings};
use super::key::Key;
use super::record::{Value, Versioned};
use super::space::WriteId;
use super::values::InboxValue;
use crate::Result;

/// How long a number of unread entries is used, to which other processes add unheard.
pub(super) const FRESH: Duration = Duration::from_secs(5);

/// The last roster entries of removed members.
pub(super) type FormerMembers = Arc<BTreeMap<MemberName, Member>>;

/// A version of a page of the task list.
type Page = (WriteId, Arc<Vec<Task>>);

/// What all handles of a team in this process share.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(super) roster: LastReading<(Arc<TeamConfig>, FormerMembers)>,
    pub(super) budgets: LastReading<Budgets>,
    /// One version of each page of the task list, by number.
    pub(super) pages: Mutex<BTreeMap<u64, Page>>,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) known: Arc<Known>,
    /// Numbers of unread entries.
    pub(super) unread: Mutex<BTreeMap<MemberName, Reading<usize>>>,
    /// What this handle hears of the records and logs that it watches.
    watched: Mutex<BTreeMap<Key, Heard>>,
    /// Watched records as they were last read or written.
    kept: Mutex<BTreeMap<Key, Kept>>,
    /// Watched logs of sent messages.
    tails: Mutex<BTreeMap<MemberName, Arc<Mutex<Tail>>>>,
}

/// A record, and the gaps that were heard before it was read.
#[derive(Debug)]
struct Kept {
    revision: u64,
    /// A [`Versioned`].
    value: Arc<dyn Any + Send + Sync>,
    gaps: u64,
}

impl Seen {
    pub(super) fn new(known: Arc<Known>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    /// Hears of a key from now on.
    pub(super) fn watch(&self, key: Key, heard: Heard) {
        self.watched.lock().insert(key, heard);
    }

    /// Returns what was heard of a watched key.
    pub(super) fn rings(&self, key: &Key) -> Option<Rings> {
        self.watched.lock().get(key)?.rings()
    }

    /// Keeps a record that was read or written after `before` was heard of it.
    pub(super) fn keep<V: Value>(
        &self,
        key: &Key,
        revision: u64,
        value: Versioned<V>,
        before: Rings,
    ) {
        let mut kept = self.kept.lock();
        let older = kept.get(key).map(|kept| kept.revision);
        if older.is_none_or(|older| older <= revision) {
            let new = Kept {
                revision,
                value: Arc::new(value),
                gaps: before.gaps,
            };
            kept.insert(key.clone(), new);
        }
    }

    /// Returns a watched record and its revision, unless it may have changed since it was kept.
    pub(super) fn kept<V: Value>(&self, key: &Key) -> Option<(u64, Arc<Versioned<V>>)> {
        let now = self.rings(key)?;
        let kept = self.kept.lock();
        let kept = kept.get(key)?;
        if now.gaps != kept.gaps || now.newest > kept.revision {
            return None;
        }
        let value = Arc::clone(&kept.value).downcast().ok()?;
        Some((kept.revision, value))
    }

    /// Forgets everything: the team is gone, and the next one of this name starts from zero.
    pub(super) fn forget(&self) {
        *self.known.roster.lock() = None;
        *self.known.budgets.lock() = None;
        self.known.pages.lock().clear();
        self.unread.lock().clear();
        self.kept.lock().clear();
        self.tails.lock().clear();
    }

    pub(super) fn tail(&self, of: &MemberName) -> Arc<Mutex<Tail>> {
        Arc::clone(self.tails.lock().entry(of.clone()).or_default())
    }
}

/// The end of a log of sent messages: those that the record of the inbox does not settle, and the last ones
/// before.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) entries: Vec<(u64, InboxEntry)>,
    /// The position after which all are known.
    pub(super) begin: u64,
    /// The position up to which they are known.
    pub(super) end: u64,
    /// The highest `next` of a record without whose settled messages they are.
    pub(super) next: u64,
    /// The gaps that were heard before that.
    gaps: Option<u64>,
}

impl Tail {
    /// Returns whether there may be more than what was heard.
    pub(super) fn has_missed(&self, now: Rings) -> bool {
        self.gaps != Some(now.gaps)
    }

    /// Adds the entries from [`Self::end`] on, up to `end`, which were read or heard after `before` was
    /// heard.
    pub(super) fn add(&mut self, entries: Vec<(u64, InboxEntry)>, end: u64, before: Rings) {
        self.entries.extend(entries);
        self.end = end;
        self.gaps = Some(before.gaps);
    }

    /// Drops the entries that are not part of the inbox any more, and reads none that the record settles.
    pub(super) fn begin_with(&mut self, inbox: &InboxValue) {
        if self.end < inbox.next {
            (self.begin, self.end) = (inbox.next, inbox.next);
        }
        self.begin = self.begin.max(inbox.begin());
        self.next = self.next.max(inbox.next);
        let is_part = |at: u64| at > inbox.next || inbox.read.contains(&at);
        self.entries
            .retain(|(at, _)| *at > self.begin && is_part(*at));
    }
}

/// The last reading of a value.
pub(super) type LastReading<T> = Mutex<Option<Reading<T>>>;

/// A value that was read, and what was heard of it before.
#[derive(Debug)]
pub(super) struct Reading<T> {
    pub(super) value: T,
    heard: Heard,
    before: Option<Rings>,
    at: Instant,
}

impl<T> Reading<T> {
    /// `heard` is about what is read.
    pub(super) fn new(heard: Heard, read: impl FnOnce() -> Result<T>) -> Result<Self> {
        let (before, at) = (heard.rings(), Instant::now());
        let value = read()?;
        Ok(Self {
            value,
            heard,
            before,
            at,
        })
    }

    /// Returns whether nothing was heard since. The records of another team of this name may have lower
    /// revisions.
    pub(super) fn is_current(&self) -> bool {
        let rings = self.before.zip(self.heard.rings());
        rings.is_some_and(|(before, now)| before == now)
    }

    /// Returns how many writes were heard since; `None` if it is too old.
    pub(super) fn writes_since(&self) -> Option<u64> {
        let (before, now) = (self.before?, self.heard.rings()?);
        (self.at.elapsed() < FRESH).then(|| now.writes - before.writes)
    }
}
