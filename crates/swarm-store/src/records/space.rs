//! What the records kind needs from a server: the key space of one team.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use swarm_protocol::{LifeRecord, MemberName, SpawnId, UnixMs};
use uuid::Uuid;

use super::bell::Heard;
use super::key::Key;
use crate::lease::Held;
use crate::{LeaseEnd, StoreError};

/// Most records that are read one by one, side by side. Reading more in one pass is faster.
pub(crate) const FEW: usize = 16;

/// Identifies a write, so that a repetition of it is recognized.
pub(crate) type WriteId = Uuid;

/// A stored record, or an entry of a log.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Above 0. A write names the revision that it replaces; 0 stands for no record. For an entry, the
    /// position after it.
    pub(crate) revision: u64,
    pub(crate) value: Vec<u8>,
}

/// An entry for a log.
pub(crate) type NewEntry = (Key, WriteId, Vec<u8>);

/// Waits for the answer to a request to append entries.
pub(crate) type Appending = Box<dyn FnOnce() -> Answered<()>>;

/// Entries of a log.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Each with the position after it.
    pub(crate) entries: Vec<(u64, Vec<u8>)>,
    /// The position after the last one.
    pub(crate) next: u64,
}

/// The lease of a member.
#[derive(Debug, Clone)]
pub(crate) struct LeaseState {
    /// The last holder.
    pub(crate) record: LifeRecord,
    pub(crate) is_held: bool,
    /// Whether that process still exists after it has lost the lease.
    pub(crate) is_parked: bool,
    /// Whether that process has given it up by itself, or is known to be dead.
    pub(crate) is_released: bool,
}

/// Result of taking a lease.
#[derive(Debug)]
pub(crate) enum Taken {
    Held(Box<dyn Held>),
    /// Another process holds it.
    HeldBy(LifeRecord),
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// It was not answered in time, and may have been done. Repeating it is safe.
    Unanswered(StoreError),
    /// Repeating it is of no use. The team may not exist.
    Failed(StoreError),
}

/// Why a record is not written.
#[derive(Debug)]
pub(crate) enum NotWritten {
    /// The record has another revision.
    Conflict,
    No(NoAnswer),
}

impl From<NoAnswer> for NotWritten {
    fn from(no: NoAnswer) -> Self {
        Self::No(no)
    }
}

/// Result of a request.
pub(crate) type Answered<T> = Result<T, NoAnswer>;

/// The records, logs and leases of one team on a server. The team need not exist; requests then fail
/// with [`Self::absent`]. A request waits at most `at_most` for its answer, on the calling thread.
pub(crate) trait Space: Debug + Send + Sync {
    /// Returns whether requests are answered without waiting.
    fn is_local(&self) -> bool;

    /// Returns how many bytes were received from the server.
    fn received(&self) -> u64 {
        0
    }

    /// Returns the error for a team that does not exist.
    fn absent(&self) -> StoreError;

    /// Returns the error for a team that exists, whose state is a clause.
    fn taken(&self, state: String) -> StoreError;

    /// Returns the address of the team on a server that others reach, for people.
    fn address(&self) -> Option<String> {
        None
    }

    /// Returns whether writes may begin now; calls wait for that.
    fn accepts_writes(&self) -> bool {
        true
    }

    /// Connects to the server, if there is one. Changes of keys that are watched afterwards are heard of
    /// without a gap.
    fn connect(&self, _at_most: Duration) -> Answered<()> {
        Ok(())
    }

    /// Is called before leases are read: what that requires besides can be requested at the same time.
    fn expect_leases(&self) {}

    /// Returns whether a request may have reached the server. None has before the first connection.
    fn was_connected(&self) -> bool {
        true
    }

    /// Returns whether this process lost a lease that it held; it may write nothing any more.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`].
    fn require_leases(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Forgets that this process lost a lease, which it is about to take again: it may wait for the server.
    fn forget_lost(&self, _name: &MemberName) {}

    /// Creates the team with records, in this order; the last one makes it exist. Returns `false` if
    /// it exists already. The IDs identify repetitions.
    fn create(&self, records: &[(Key, WriteId, Vec<u8>)], at_most: Duration) -> Answered<bool>;

    /// Deletes everything.
    fn delete(&self, at_most: Duration) -> Answered<()>;

    /// Returns a record, if there is one.
    fn read(&self, key: &Key, at_most: Duration) -> Answered<Option<Stored>>;

    /// Returns several records, in the order of the keys.
    fn read_each(&self, keys: &[Key], at_most: Duration) -> Answered<Vec<Option<Stored>>> {
        keys.iter().map(|key| self.read(key, at_most)).collect()
    }

    /// Returns the server's time, which is the same for all machines. Only its differences count.
    fn time(&self, at_most: Duration) -> Answered<UnixMs>;

    /// Returns the size in bytes of the largest value that is stored in one piece.
    fn largest(&self, _at_most: Duration) -> Answered<usize> {
        Ok(usize::MAX)
    }

    /// Replaces a record if it still has this revision. Returns the new one.
    fn write(
        &self,
        key: &Key,
        revision: u64,
        id: WriteId,
        value: &[u8],
        at_most: Duration,
    ) -> Result<u64, NotWritten>;

    /// Removes a record that is not written any more. It need not have happened when this returns.
    fn remove_record(&self, key: &Key, at_most: Duration) -> Answered<()>;

    /// Removes the log of this key, and all records whose keys begin with these words. What is written
    /// meanwhile may stay.
    fn remove(&self, prefix: &Key, at_most: Duration) -> Answered<()>;

    /// Appends entries to logs in this order, except those that already are. If one is refused, others
    /// may be appended.
    fn append(&self, entries: &[NewEntry], at_most: Duration) -> Answered<()>;

    /// Begins to append entries as [`Self::append`]. The result waits for the answer.
    fn begin_append(&self, entries: &[NewEntry], at_most: Duration) -> Appending {
        let answer = self.append(entries, at_most);
        Box::new(|| answer)
    }

    /// Returns the entries from a position, which is 0 or [`Entries::next`] of an earlier call.
    fn entries(&self, log: &Key, from: u64, at_most: Duration) -> Answered<Entries>;

    /// Returns the positions of the entries of all logs whose keys begin with these words, from a position
    /// on, oldest first.
    fn positions(&self, logs: &Key, from: u64, at_most: Duration) -> Answered<Vec<(Key, u64)>>;

    /// Returns the entries after a position that were heard, oldest first. If none before that position is
    /// missing, and no gap was heard since, none is missing up to the last one.
    fn heard_entries(&self, _log: &Key, _from: u64) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }

    /// Returns a position that later entries of the log follow, and no earlier one. Later entries of all
    /// logs have higher positions.
    fn end(&self, log: &Key, at_most: Duration) -> Answered<u64>;

    /// Returns a position that later entries of all logs follow, if one is known without a request, and
    /// since when: entries that this process has not heard of may follow it too.
    fn heard_end(&self) -> Option<(u64, Instant)> {
        None
    }

    /// Returns what changes when a record, log or lease of these keys, or with these prefixes of words,
    /// is written. It may also change without that.
    fn heard(&self, keys: &[Key]) -> Heard;

    /// Like [`Self::heard`]; what other processes write may be missed.
    fn heard_here(&self, keys: &[Key]) -> Heard {
        self.heard(keys)
    }

    /// Returns the records whose keys begin with these words, oldest first. One that is replaced meanwhile
    /// may be there twice, the newer one last, or be missing if it is not wanted.
    fn below(
        &self,
        prefix: &Key,
        wanted: &[Key],
        at_most: Duration,
    ) -> Answered<Vec<(Key, Stored)>>;

    /// Returns those of the wanted leases that were ever held, and perhaps others.
    fn leases(
        &self,
        wanted: &[MemberName],
        at_most: Duration,
    ) -> Answered<BTreeMap<MemberName, LeaseState>>;

    /// Returns the lease of a member; `None` if no process has ever held it.
    fn lease(&self, name: &MemberName, at_most: Duration) -> Answered<Option<LeaseState>>;

    /// Takes a lease. Dropping the returned value releases it. `id` identifies repetitions.
    fn take_lease(
        &self,
        name: &MemberName,
        record: &LifeRecord,
        id: WriteId,
        at_most: Duration,
    ) -> Answered<Taken>;

    /// Returns what resolves when a lease is not held.
    fn lease_end(&self, name: &MemberName) -> LeaseEnd;

    /// Ends a lease that this spawn holds.
    fn end_lease(&self, name: &MemberName, spawn: SpawnId, at_most: Duration) -> Answered<()>;
}
