//! The key space of one team on a hub.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use swarm_os::boot_time;
use swarm_protocol::{LifeRecord, MemberName, SpawnId, TeamName, UnixMs};
use tokio::sync::oneshot;

use super::connection::{Connection, absent};
use super::lease::HeldLease;
use super::report::{HubReport, report};
use super::requests::{Published, Requests};
use super::settings::LeaseTerms;
use super::subjects;
use crate::records::{
    Answered, Appending, Entries, Heard, Key, LeaseState, NewEntry, NoAnswer, NotWritten, Space,
    Stored, Taken, WriteId,
};
use crate::{LeaseEnd, StoreError};

/// Longest wait for the server's time while nobody needs it yet.
const CLOCK: Duration = Duration::from_secs(5);

/// The records of one team on a hub.
#[derive(Debug)]
pub(crate) struct NatsSpace {
    requests: Arc<Requests>,
}

impl NatsSpace {
    pub(crate) fn new(hub: Arc<Connection>, team: TeamName, terms: LeaseTerms) -> Self {
        Self {
            requests: Arc::new(Requests::new(hub, team, terms)),
        }
    }

    /// Asks the hub for its state. The team must exist.
    ///
    /// # Errors
    /// If it cannot be reached, or the team is not there.
    pub(crate) fn report(&self, at_most: Duration) -> Result<HubReport, StoreError> {
        let reported = report(&self.requests, at_most);
        reported.map_err(|(NoAnswer::Unanswered(error) | NoAnswer::Failed(error))| error)
    }

    /// Waits for an answer, or until this process loses a lease: whoever waits then has to park or to exit.
    fn wait<T, F>(&self, at_most: Duration, work: impl FnOnce(Arc<Requests>) -> F) -> Answered<T>
    where
        T: Send + 'static,
        F: Future<Output = Answered<T>> + Send + 'static,
    {
        self.begin(at_most, work)()
    }

    /// Begins with something. The result waits as [`Self::wait`].
    fn begin<T, F, W>(
        &self,
        at_most: Duration,
        work: W,
    ) -> impl FnOnce() -> Answered<T> + use<T, F, W>
    where
        T: Send + 'static,
        F: Future<Output = Answered<T>> + Send + 'static,
        W: FnOnce(Arc<Requests>) -> F,
    {
        let requests = Arc::clone(&self.requests);
        let mut lost = requests.lost.subscribe();
        let work = work(Arc::clone(&requests));
        self.requests.hub.begin(at_most, async move {
            tokio::select! {
                answer = work => answer,
                _ = lost.changed() => Err(requests.unanswered()),
            }
        })
    }
}

impl Drop for NatsSpace {
    fn drop(&mut self) {
        self.requests.hear_no_more();
    }
}

impl Space for NatsSpace {
    fn is_local(&self) -> bool {
        false
    }

    fn received(&self) -> u64 {
        self.requests.hub.received()
    }

    fn absent(&self) -> StoreError {
        absent(&self.requests.hub, &self.requests.team)
    }

    fn taken(&self, _state: String) -> StoreError {
        StoreError::TeamOnHub {
            team: self.requests.team.clone(),
            hub: self.requests.hub.settings().url.clone(),
            is_joined: false,
        }
    }

    fn address(&self) -> Option<String> {
        let (hub, team) = (self.requests.hub.settings(), &self.requests.team);
        Some(format!("{}/{team}", hub.url.trim_end_matches('/')))
    }

    fn connect(&self, at_most: Duration) -> Answered<()> {
        if self.was_connected() {
            return Ok(());
        }
        self.wait(at_most, |requests| async move {
            requests.complete_stream().await.map(drop)
        })
    }

    /// Measures the server's clock.
    fn expect_leases(&self) {
        if self.requests.clock.now().is_some() {
            return;
        }
        // If this fails, the next use of the time asks again.
        drop(self.begin(CLOCK, |requests| async move {
            requests.complete_stream().await?;
            requests.server_time().await
        }));
    }

    fn was_connected(&self) -> bool {
        self.requests.hub.last_client().is_some()
    }

    fn require_leases(&self) -> Result<(), StoreError> {
        self.requests.require_leases()
    }

    fn forget_lost(&self, name: &MemberName) {
        self.requests.forget_lost(name);
    }

    fn create(&self, records: &[(Key, WriteId, Vec<u8>)], at_most: Duration) -> Answered<bool> {
        let records = records.to_vec();
        self.wait(
            at_most,
            |requests| async move { requests.create(records).await },
        )
    }

    fn delete(&self, at_most: Duration) -> Answered<()> {
        self.wait(at_most, |requests| async move { requests.delete().await })
    }

    fn read(&self, key: &Key, at_most: Duration) -> Answered<Option<Stored>> {
        let key = key.clone();
        self.wait(at_most, |requests| async move { requests.read(&key).await })
    }

    fn read_each(&self, keys: &[Key], at_most: Duration) -> Answered<Vec<Option<Stored>>> {
        let keys = keys.to_vec();
        self.wait(at_most, |requests| async move {
            requests.complete_stream().await?;
            try_join_all(keys.iter().map(|key| requests.read(key))).await
        })
    }

    fn time(&self, at_most: Duration) -> Answered<UnixMs> {
        let time = self.wait(
            at_most,
            |requests| async move { requests.server_time().await },
        )?;
        Ok(UnixMs(u64::try_from(time / 1_000_000).unwrap_or_default()))
    }

    fn largest(&self, at_most: Duration) -> Answered<usize> {
        if let Some(largest) = self.requests.largest_now() {
            return Ok(largest);
        }
        self.wait(at_most, |requests| async move { requests.largest().await })
    }

    fn write(
        &self,
        key: &Key,
        revision: u64,
        id: WriteId,
        value: &[u8],
        at_most: Duration,
    ) -> Result<u64, NotWritten> {
        let (key, value) = (key.clone(), value.to_vec());
        let written = self.wait(at_most, |requests| async move {
            requests.write(key, revision, id, value).await
        })?;
        match written {
            Published::At(revision) => Ok(revision),
            Published::Conflict => Err(NotWritten::Conflict),
        }
    }

    fn remove_record(&self, key: &Key, at_most: Duration) -> Answered<()> {
        let subject = subjects::of(&self.requests.team, key);
        self.wait(at_most, |requests| async move {
            requests.purge_record(subject).await
        })
    }

    fn remove(&self, prefix: &Key, at_most: Duration) -> Answered<()> {
        let pattern = subjects::below(&self.requests.team, prefix);
        let chunks = subjects::chunks_of(&self.requests.team, &pattern);
        self.wait(at_most, |requests| async move {
            requests.purge(pattern).await?;
            requests.purge(chunks).await
        })
    }

    fn append(&self, entries: &[NewEntry], at_most: Duration) -> Answered<()> {
        let entries = entries.to_vec();
        self.wait(
            at_most,
            |requests| async move { requests.append(entries).await },
        )
    }

    fn begin_append(&self, entries: &[NewEntry], at_most: Duration) -> Appending {
        let entries = entries.to_vec();
        Box::new(self.begin(
            at_most,
            |requests| async move { requests.append(entries).await },
        ))
    }

    fn entries(&self, log: &Key, from: u64, at_most: Duration) -> Answered<Entries> {
        let log = log.clone();
        self.wait(at_most, |requests| async move {
            requests.log_from(&log, from).await
        })
    }

    fn positions(&self, logs: &Key, from: u64, at_most: Duration) -> Answered<Vec<(Key, u64)>> {
        let logs = logs.clone();
        self.wait(at_most, |requests| async move {
            requests.positions(&logs, from).await
        })
    }

    fn heard_entries(&self, log: &Key, from: u64) -> Vec<(u64, Vec<u8>)> {
        self.requests.heard_entries(log, from)
    }

    fn end(&self, _log: &Key, at_most: Duration) -> Answered<u64> {
        self.wait(
            at_most,
            |requests| async move { requests.last_sequence().await },
        )
    }

    fn heard_end(&self) -> Option<(u64, Instant)> {
        self.requests.heard_sequence()
    }

    fn heard(&self, keys: &[Key]) -> Heard {
        self.requests.heard(keys)
    }

    fn heard_here(&self, keys: &[Key]) -> Heard {
        self.requests.bells.heard(keys)
    }

    fn below(
        &self,
        prefix: &Key,
        wanted: &[Key],
        at_most: Duration,
    ) -> Answered<Vec<(Key, Stored)>> {
        let (prefix, wanted) = (prefix.clone(), wanted.to_vec());
        self.wait(at_most, |requests| async move {
            requests.below(&prefix, &wanted).await
        })
    }

    fn leases(
        &self,
        wanted: &[MemberName],
        at_most: Duration,
    ) -> Answered<BTreeMap<MemberName, LeaseState>> {
        let wanted: Vec<Key> = wanted.iter().map(Key::lease).collect();
        self.wait(
            at_most,
            |requests| async move { requests.leases(&wanted).await },
        )
    }

    fn lease(&self, name: &MemberName, at_most: Duration) -> Answered<Option<LeaseState>> {
        let name = name.clone();
        self.wait(at_most, |requests| async move {
            requests.lease_state(&name).await
        })
    }

    fn take_lease(
        &self,
        name: &MemberName,
        record: &LifeRecord,
        id: WriteId,
        at_most: Duration,
    ) -> Answered<Taken> {
        let (member, holder) = (name.clone(), record.clone());
        let since = boot_time();
        let taken = self.wait(at_most, |requests| async move {
            requests.acquire(&member, &holder, id).await
        })?;
        Ok(match taken {
            Ok(taken) => Taken::Held(Box::new(HeldLease::new(
                &self.requests,
                name.clone(),
                taken,
                since,
            ))),
            Err(holder) => Taken::HeldBy(holder),
        })
    }

    fn lease_end(&self, name: &MemberName) -> LeaseEnd {
        let (tell, ended) = oneshot::channel();
        let waiting = Arc::clone(&self.requests).tell_end(name.clone(), tell);
        drop(self.requests.hub.spawn(waiting));
        ended
    }

    fn end_lease(&self, name: &MemberName, spawn: SpawnId, at_most: Duration) -> Answered<()> {
        let name = name.clone();
        self.wait(at_most, |requests| async move {
            requests.end_lease(&name, spawn).await
        })
    }
}
