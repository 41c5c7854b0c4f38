//! The records, logs and leases of one team in this process.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_protocol::{LifeRecord, MemberName, SpawnId, TeamName, UnixMs, sanitized_collision};
use tokio::sync::oneshot;

use super::faults::{Fault, Faults};
use crate::lease::Held;
use crate::lease_term::LeaseTerm;
use crate::records::{
    Answered, Bells, Entries, Heard, Key, LeaseState, NewEntry, NoAnswer, NotWritten, Space,
    Stored, Taken, WriteId,
};
use crate::{LeaseEnd, Result, StoreError};

/// All teams, and what happens to requests.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) teams: Mutex<BTreeMap<TeamName, Arc<Content>>>,
    pub(super) faults: Arc<Faults>,
    /// When its clock began.
    pub(super) since: Instant,
}

/// The key space of one team, which need not exist.
#[derive(Debug)]
pub(super) struct MemorySpace {
    pub(super) shared: Arc<Shared>,
    pub(super) team: TeamName,
}

/// One team.
#[derive(Default)]
pub(super) struct Content {
    records: Mutex<BTreeMap<Key, Record>>,
    logs: Mutex<BTreeMap<Key, Log>>,
    /// The position after the last entry of all logs.
    end: AtomicU64,
    leases: Mutex<BTreeMap<MemberName, LeaseValue>>,
    bells: Bells,
}

#[derive(Default)]
struct Record {
    revision: u64,
    value: Vec<u8>,
    /// The revisions of writes.
    written: HashMap<WriteId, u64>,
}

#[derive(Default)]
struct Log {
    /// By the positions after them.
    entries: BTreeMap<u64, Vec<u8>>,
    appended: HashSet<WriteId>,
}

struct LeaseValue {
    is_held: bool,
    /// The last holder.
    record: LifeRecord,
    /// Over if the last holder has lost it.
    term: Arc<LeaseTerm>,
    /// Those who wait for its release.
    waiting: Vec<oneshot::Sender<Result<()>>>,
}

impl Record {
    fn stored(&self) -> Stored {
        Stored {
            revision: self.revision,
            value: self.value.clone(),
        }
    }
}

impl LeaseValue {
    fn state(&self) -> LeaseState {
        LeaseState {
            record: self.record.clone(),
            is_held: self.is_held,
            is_parked: self.term.is_over(),
            is_released: !self.is_held && !self.term.is_over(),
        }
    }

    fn end(&mut self) {
        self.is_held = false;
        for one in std::mem::take(&mut self.waiting) {
            // The receiver may have been dropped.
            drop(one.send(Ok(())));
        }
    }
}

impl Content {
    pub(super) fn ring_all(&self) {
        self.bells.ring_all();
    }

    /// Ends a lease that its holder keeps.
    pub(super) fn lose_lease(&self, name: &MemberName) {
        if let Some(lease) = self.leases.lock().get_mut(name) {
            lease.term.end();
            lease.end();
        }
        self.bells.ring_watched(&Key::lease(name), None);
    }
}

/// Shows values with their revisions, so that a write is seen.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let value = |record: &Record| {
            let whole = serde_json::from_slice::<serde_json::Value>(&record.value);
            let value = whole.map_or_else(
                |_| text(&record.value),
                |whole| whole.get("value").unwrap_or(&whole).to_string(),
            );
            (record.revision, value)
        };
        let records = self.records.lock();
        let logs = self.logs.lock();
        let entries = |log: &Log| {
            let entries = log.entries.values();
            entries.map(|entry| text(entry)).collect::<Vec<_>>()
        };
        f.debug_map()
            .entries(records.iter().map(|(key, record)| (key, value(record))))
            .entries(logs.iter().map(|(key, log)| (key, entries(log))))
            .finish()
    }
}

impl MemorySpace {
    fn content(&self) -> Answered<Arc<Content>> {
        let content = self.shared.teams.lock().get(&self.team).cloned();
        content.ok_or_else(|| NoAnswer::Failed(self.absent()))
    }

    /// The content, once requests are answered.
    fn answer(&self, at_most: Duration) -> Answered<Arc<Content>> {
        if self.shared.faults.is_answered(at_most) {
            self.content()
        } else {
            Err(self.lost())
        }
    }

    fn lost(&self) -> NoAnswer {
        NoAnswer::Unanswered(StoreError::Contended {
            team: self.team.clone(),
            waited: Duration::ZERO,
        })
    }
}

impl Space for MemorySpace {
    /// A call may not wait for an answer on its caller's thread.
    fn is_local(&self) -> bool {
        !self.shared.faults.is_silent()
    }

    fn absent(&self) -> StoreError {
        StoreError::TeamNotFound {
            team: self.team.clone(),
            known: self.shared.teams.lock().keys().cloned().collect(),
            remains: None,
        }
    }

    fn taken(&self, state: String) -> StoreError {
        let team = self.team.clone();
        StoreError::TeamExists { team, state }
    }

    fn accepts_writes(&self) -> bool {
        !self.shared.faults.is_held()
    }

    fn time(&self, _at_most: Duration) -> Answered<UnixMs> {
        let elapsed = self.shared.since.elapsed().as_millis();
        Ok(UnixMs(u64::try_from(elapsed).unwrap_or(u64::MAX)))
    }

    fn create(&self, records: &[(Key, WriteId, Vec<u8>)], _at_most: Duration) -> Answered<bool> {
        let stored = records.iter().map(|(key, _, value)| {
            let first = Record {
                revision: 1,
                value: value.clone(),
                written: HashMap::new(),
            };
            (key.clone(), first)
        });
        let content = Arc::new(Content {
            records: Mutex::new(stored.collect()),
            ..Content::default()
        });
        let mut teams = self.shared.teams.lock();
        if teams.contains_key(&self.team) {
            return Ok(false);
        }
        let collides = |other: &&TeamName| sanitized_collision(other.as_str(), self.team.as_str());
        if let Some(other) = teams.keys().find(collides) {
            return Err(NoAnswer::Failed(StoreError::TeamCollides {
                team: self.team.clone(),
                other: other.to_string(),
            }));
        }
        teams.insert(self.team.clone(), content);
        Ok(true)
    }

    fn delete(&self, _at_most: Duration) -> Answered<()> {
        let deleted = self.shared.teams.lock().remove(&self.team);
        if let Some(content) = deleted {
            content.bells.ring_all();
        }
        Ok(())
    }

    fn read(&self, key: &Key, at_most: Duration) -> Answered<Option<Stored>> {
        self.shared.faults.delay();
        let content = self.answer(at_most)?;
        let records = content.records.lock();
        Ok(records.get(key).map(Record::stored))
    }

    fn write(
        &self,
        key: &Key,
        revision: u64,
        id: WriteId,
        value: &[u8],
        at_most: Duration,
    ) -> Result<u64, NotWritten> {
        let faults = &self.shared.faults;
        faults.delay();
        let content = self.answer(at_most)?;
        let fault = faults.of_write();
        if fault == Fault::LostRequest {
            faults.delay();
            return Err(self.lost().into());
        }
        let written = {
            let mut records = content.records.lock();
            let now = records.get(key);
            if let Some(written) = now.and_then(|now| now.written.get(&id)) {
                *written
            } else {
                if fault == Fault::Conflict || now.map_or(0, |now| now.revision) != revision {
                    return Err(NotWritten::Conflict);
                }
                let now = records.entry(key.clone()).or_default();
                now.revision += 1;
                now.value = value.to_vec();
                now.written.insert(id, now.revision);
                content.bells.ring(key, now.revision);
                now.revision
            }
        };
        faults.delay();
        match fault {
            Fault::LostRequest | Fault::LostAcknowledgement => Err(self.lost().into()),
            Fault::None | Fault::Conflict => Ok(written),
        }
    }

    fn remove_record(&self, key: &Key, at_most: Duration) -> Answered<()> {
        self.answer(at_most)?.records.lock().remove(key);
        Ok(())
    }

    fn remove(&self, prefix: &Key, at_most: Duration) -> Answered<()> {
        let faults = &self.shared.faults;
        let content = self.answer(at_most)?;
        let fault = faults.of_write();
        if fault != Fault::LostRequest {
            let begins = format!("{prefix}.");
            let mut records = content.records.lock();
            records.retain(|key, _| !key.as_str().starts_with(&begins));
            content.logs.lock().remove(prefix);
        }
        match fault {
            Fault::LostRequest | Fault::LostAcknowledgement => Err(self.lost()),
            Fault::None | Fault::Conflict => Ok(()),
        }
    }

    fn append(&self, entries: &[NewEntry], at_most: Duration) -> Answered<()> {
        let faults = &self.shared.faults;
        faults.delay();
        let content = self.answer(at_most)?;
        let fault = faults.of_write();
        let arrive = if fault == Fault::LostRequest {
            entries.len() / 2
        } else {
            entries.len()
        };
        for (log, id, entry) in &entries[..arrive] {
            let mut logs = content.logs.lock();
            let log_now = logs.entry(log.clone()).or_default();
            if log_now.appended.insert(*id) {
                let end = content.end.fetch_add(1, Ordering::SeqCst) + 1;
                log_now.entries.insert(end, entry.clone());
                content.bells.ring(log, end);
            }
        }
        match fault {
            Fault::LostRequest | Fault::LostAcknowledgement => Err(self.lost()),
            Fault::None | Fault::Conflict => Ok(()),
        }
    }

    fn entries(&self, log: &Key, from: u64, at_most: Duration) -> Answered<Entries> {
        self.shared.faults.delay();
        let content = self.answer(at_most)?;
        let logs = content.logs.lock();
        let entries = logs.get(log).map(|log| log.entries.range(from + 1..));
        let entries = entries.into_iter().flatten();
        let entries: Vec<_> = entries.map(|(at, entry)| (*at, entry.clone())).collect();
        let next = entries.last().map_or(from, |(next, _)| *next);
        Ok(Entries { entries, next })
    }

    fn positions(&self, logs: &Key, from: u64, at_most: Duration) -> Answered<Vec<(Key, u64)>> {
        self.shared.faults.delay();
        let content = self.answer(at_most)?;
        let begins = format!("{logs}.");
        let logs = content.logs.lock();
        let below = logs
            .iter()
            .filter(|(key, _)| key.as_str().starts_with(&begins));
        let mut found: Vec<_> = below
            .flat_map(|(key, log)| {
                log.entries
                    .range(from + 1..)
                    .map(|(at, _)| (key.clone(), *at))
            })
            .collect();
        found.sort_by_key(|(_, at)| *at);
        Ok(found)
    }

    fn end(&self, _log: &Key, at_most: Duration) -> Answered<u64> {
        Ok(self.answer(at_most)?.end.load(Ordering::SeqCst))
    }

    fn heard(&self, keys: &[Key]) -> Heard {
        match self.content() {
            Ok(content) => content.bells.heard(keys),
            Err(_) => Bells::default().heard(keys),
        }
    }

    fn below(
        &self,
        prefix: &Key,
        _wanted: &[Key],
        at_most: Duration,
    ) -> Answered<Vec<(Key, Stored)>> {
        self.shared.faults.delay();
        let content = self.answer(at_most)?;
        let begins = format!("{prefix}.");
        let is_below = |key: &&Key| key.as_str().starts_with(&begins);
        let records = content.records.lock();
        let records = records.iter().filter(|(key, _)| is_below(key));
        let found = records.map(|(key, record)| (key.clone(), record.stored()));
        Ok(found.collect())
    }

    fn leases(
        &self,
        _wanted: &[MemberName],
        at_most: Duration,
    ) -> Answered<BTreeMap<MemberName, LeaseState>> {
        let content = self.answer(at_most)?;
        let leases = content.leases.lock();
        let leases = leases.iter();
        Ok(leases
            .map(|(name, lease)| (name.clone(), lease.state()))
            .collect())
    }

    fn lease(&self, name: &MemberName, at_most: Duration) -> Answered<Option<LeaseState>> {
        let content = self.answer(at_most)?;
        let leases = content.leases.lock();
        Ok(leases.get(name).map(LeaseValue::state))
    }

    fn take_lease(
        &self,
        name: &MemberName,
        record: &LifeRecord,
        _id: WriteId,
        at_most: Duration,
    ) -> Answered<Taken> {
        let content = self.answer(at_most)?;
        let term = Arc::new(LeaseTerm::until_ended());
        {
            let mut leases = content.leases.lock();
            if let Some(lease) = leases.get(name).filter(|lease| lease.is_held) {
                return Ok(Taken::HeldBy(lease.record.clone()));
            }
            let lease = LeaseValue {
                is_held: true,
                record: record.clone(),
                term: Arc::clone(&term),
                waiting: Vec::new(),
            };
            leases.insert(name.clone(), lease);
        }
        content.bells.ring_watched(&Key::lease(name), None);
        Ok(Taken::Held(Box::new(HeldLease {
            content,
            name: name.clone(),
            term,
        })))
    }

    fn lease_end(&self, name: &MemberName) -> LeaseEnd {
        let (tell, ended) = oneshot::channel();
        match self.content() {
            Ok(content) => match content.leases.lock().get_mut(name) {
                Some(lease) if lease.is_held => lease.waiting.push(tell),
                _ => drop(tell.send(Ok(()))),
            },
            Err(NoAnswer::Unanswered(error) | NoAnswer::Failed(error)) => {
                drop(tell.send(Err(error)));
            }
        }
        ended
    }

    fn end_lease(&self, name: &MemberName, spawn: SpawnId, at_most: Duration) -> Answered<()> {
        let content = self.answer(at_most)?;
        let is_its = |lease: &LeaseValue| lease.is_held && lease.record.spawn_id == spawn;
        let is_held = content.leases.lock().get(name).is_some_and(is_its);
        if is_held {
            content.lose_lease(name);
        }
        Ok(())
    }
}

/// Releases the lease when dropped.
#[derive(Debug)]
struct HeldLease {
    content: Arc<Content>,
    name: MemberName,
    term: Arc<LeaseTerm>,
}

impl Held for HeldLease {
    fn term(&self) -> Option<&Arc<LeaseTerm>> {
        Some(&self.term)
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        // A lost lease may have another holder.
        if !self.term.is_over()
            && let Some(lease) = self.content.leases.lock().get_mut(&self.name)
        {
            lease.end();
        }
    }
}
