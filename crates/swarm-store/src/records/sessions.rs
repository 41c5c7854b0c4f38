//! The sessions of a hub: an entry for each, and a log of its messages and the answers to them.

use std::collections::BTreeMap;
use std::time::Duration;

use swarm_protocol::{LifeRecord, PeerFrame, PeerSession, SessionId};

use super::nodes::{Nodes, create_space, read_if_any, take_lease};
use super::record::{Log, Record};
use super::space::WriteId;
use super::team::RecordsTeam;
use crate::{Changes, Lease, Result, StoreError};

fn sessions() -> Record<BTreeMap<SessionId, PeerSession>> {
    Record::new("sessions")
}

fn frames(session: SessionId) -> Log<PeerFrame> {
    Log::new(&format!("session.{session}"))
}

/// The sessions that can be written to through a hub, in the key space of its nodes.
#[derive(Debug, Clone)]
pub struct Sessions {
    records: RecordsTeam,
}

impl Nodes {
    /// Returns the sessions of the same hub.
    pub fn sessions(&self) -> Sessions {
        Sessions {
            records: self.records.clone(),
        }
    }
}

impl Sessions {
    /// Returns the same sessions with a shorter limit on the hub's answer to a call.
    #[must_use]
    pub fn waiting_at_most(&self, at_most: Duration) -> Self {
        Self {
            records: self.records.waiting_at_most(at_most),
        }
    }

    /// Adds a session, which counts as ended when the lease is dropped. What is stored of ended
    /// sessions is removed. Returns also the position of the first frame for this process.
    ///
    /// # Errors
    /// [`StoreError::LeaseHeld`] if another process has this session.
    pub async fn join(&self, session: PeerSession, process: &LifeRecord) -> Result<(Lease, u64)> {
        let process = process.clone();
        self.records
            .run_blocking(move |records| join(records, &session, &process))
            .await
    }

    /// Returns the running sessions, oldest first; none if no session or node has ever joined.
    pub async fn all(&self) -> Result<Vec<PeerSession>> {
        self.records
            .run_blocking(|records| {
                let (mut running, _) = by_liveness(records)?;
                running.sort_by_key(|session| (session.started_at, session.session));
                Ok(running)
            })
            .await
    }

    /// Appends a frame to the log of a session.
    pub async fn append(&self, to: SessionId, frame: PeerFrame) -> Result<()> {
        self.records
            .run_blocking(move |records| {
                records.append(&[frames(to).entry(WriteId::new_v4(), &frame)?])
            })
            .await
    }

    /// Returns the frames of a session from a position, and the position after them. What is not a
    /// frame is skipped.
    pub async fn frames(&self, of: SessionId, from: u64) -> Result<(Vec<PeerFrame>, u64)> {
        self.records
            .run_blocking(move |records| {
                let log = frames(of).key;
                let read = |at_most| records.space.entries(&log, from, at_most);
                let found = records.answered(false, read)?;
                let parsed = found
                    .entries
                    .iter()
                    .flat_map(|(_, bytes)| serde_json::from_slice(bytes));
                Ok((parsed.collect(), found.next))
            })
            .await
    }

    /// Returns the position after the last frame of a session.
    pub async fn end(&self, of: SessionId) -> Result<u64> {
        self.records
            .run_blocking(move |records| end(records, of))
            .await
    }

    /// Watches the frames of a session. **Watch before the first read.**
    pub fn watch(&self, of: SessionId) -> Changes {
        Changes::of_records(self.records.space.heard(&[frames(of).key]))
    }
}

fn join(
    records: &RecordsTeam,
    session: &PeerSession,
    process: &LifeRecord,
) -> Result<(Lease, u64)> {
    let id = session.session;
    let held_as = id.holder();
    records.space.forget_lost(&held_as);
    create_space(records)?;
    // Frames for an earlier process of this session are not read.
    let position = end(records, id)?;
    let lease = take_lease(records, &held_as, process)?;
    let lease = lease.map_err(|holder| StoreError::LeaseHeld {
        team: records.team.clone(),
        name: held_as,
        reason: format!("process {} on {}", holder.pid, holder.host),
    })?;
    let (_, ended) = by_liveness(records)?;
    for old in ended.iter().filter(|old| **old != id) {
        let log = frames(*old).key;
        records.answered(true, |at_most| records.space.remove(&log, at_most))?;
    }
    records.change(&sessions(), |all, _| {
        all.retain(|old, _| !ended.contains(old));
        all.insert(id, session.clone());
        Ok(())
    })?;
    Ok((lease, position))
}

fn end(records: &RecordsTeam, of: SessionId) -> Result<u64> {
    let log = frames(of).key;
    records.answered(false, |at_most| records.space.end(&log, at_most))
}

/// Returns the running sessions, and the ids of those that have ended.
fn by_liveness(records: &RecordsTeam) -> Result<(Vec<PeerSession>, Vec<SessionId>)> {
    let (mut running, mut ended) = (Vec::new(), Vec::new());
    for (id, session) in read_if_any(records, &sessions())? {
        match records.lease_of(&id.holder())? {
            (_, Some(holder)) => running.push(
                PeerSession {
                    session: id,
                    ..session
                }
                .on_hub(holder.host),
            ),
            (_, None) => ended.push(id),
        }
    }
    Ok((running, ended))
}
