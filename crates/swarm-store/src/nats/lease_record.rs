//! Leases of members as records.
//!
//! The revision of the record is the fencing token: every write names the revision that it
//! replaces. The holder renews the lease by writing the record. A lease that was not renewed for
//! its term has expired. The process that notices this records it, and the holder can no longer
//! renew. A lease also ends if the server has no room to record that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::message::StreamMessage;
use serde::{Deserialize, Serialize};
use swarm_protocol::{LifeRecord, MemberName};

use super::requests::{Published, Requests};
use super::subjects;
use crate::StoreError;
use crate::records::{Answered, FEW, Key, LeaseState, NoAnswer, WriteId};

/// Header of a renewal.
const RENEWAL: &str = "Swarm-Renewal";

/// Returns whether these are the headers of a renewal.
pub(super) fn is_renewal(headers: Option<&HeaderMap>) -> bool {
    headers.is_some_and(|headers| headers.get(RENEWAL).is_some())
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeaseRecord {
    pub(super) state: State,
    /// The last holder.
    pub(super) holder: LifeRecord,
    /// Differs for each time that it was taken.
    pub(super) id: WriteId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Held,
    /// By its holder, or by a process that knows that the holder is dead.
    Released,
    /// By a process that found it expired, or by a holder that has parked and exits.
    Ended,
    /// Its last holder knows that it has ended, and keeps the member's conversation.
    Parked,
}

impl From<LeaseRecord> for LeaseState {
    fn from(lease: LeaseRecord) -> Self {
        Self {
            is_held: lease.state == State::Held,
            is_parked: lease.state == State::Parked,
            is_released: lease.state == State::Released,
            record: lease.holder,
        }
    }
}

/// A lease as it is on the server.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) revision: u64,
    pub(super) record: LeaseRecord,
    /// When it was written, by the server's clock in nanoseconds since 1970.
    pub(super) at: i128,
}

impl Requests {
    pub(super) async fn see_lease(&self, name: &MemberName) -> Answered<Option<Seen>> {
        let key = Key::lease(name);
        let message = self.last(&subjects::of(&self.team, &key)).await?;
        message.map(|message| self.seen_in(&message)).transpose()
    }

    fn seen_in(&self, message: &StreamMessage) -> Answered<Seen> {
        let record = serde_json::from_slice(&message.payload);
        Ok(Seen {
            revision: message.sequence,
            record: record.map_err(|error| self.failed(&error))?,
            at: message.time.unix_timestamp_nanos(),
        })
    }

    /// Writes a lease, if nobody else has since.
    pub(super) async fn write_lease(
        &self,
        name: &MemberName,
        revision: u64,
        record: &LeaseRecord,
    ) -> Answered<Published> {
        let none = HeaderMap::new();
        self.put_lease(name, revision, record, none).await
    }

    /// Writes a lease again, which is not a change for those who watch it.
    pub(super) async fn renew_lease(&self, name: &MemberName, seen: &Seen) -> Answered<Published> {
        let mut headers = HeaderMap::new();
        headers.insert(RENEWAL, "");
        self.put_lease(name, seen.revision, &seen.record, headers)
            .await
    }

    async fn put_lease(
        &self,
        name: &MemberName,
        revision: u64,
        record: &LeaseRecord,
        headers: HeaderMap,
    ) -> Answered<Published> {
        let subject = subjects::of(&self.team, &Key::lease(name));
        let value = serde_json::to_vec(record).map_err(|error| self.failed(&error))?;
        let id = WriteId::new_v4();
        self.publish(subject, Some(revision), id, headers, value.into())
            .await
    }

    /// Returns how long a held lease still lasts if it is not renewed; zero if it is over.
    pub(super) async fn left(&self, seen: &Seen) -> Answered<Duration> {
        let age = self.server_time().await? - seen.at;
        let age = Duration::from_nanos(u64::try_from(age.max(0)).unwrap_or(u64::MAX));
        Ok(self.terms.term.saturating_sub(age))
    }

    /// Returns the state of a lease and how long it lasts. Ends it if it was not renewed in time; a server
    /// without room does not record the end.
    pub(super) async fn judge_lease(
        &self,
        name: &MemberName,
    ) -> Answered<Option<(Seen, Duration)>> {
        loop {
            let Some(mut seen) = self.see_lease(name).await? else {
                return Ok(None);
            };
            if seen.record.state != State::Held {
                return Ok(Some((seen, Duration::ZERO)));
            }
            let left = self.left(&seen).await?;
            if !left.is_zero() {
                return Ok(Some((seen, left)));
            }
            seen.record.state = State::Ended;
            match self.write_lease(name, seen.revision, &seen.record).await {
                Ok(Published::At(revision)) => {
                    seen.revision = revision;
                    self.bells.ring(&Key::lease(name), revision);
                }
                Ok(Published::Conflict) => continue,
                // Its holder has given it up by its own clock.
                Err(NoAnswer::Failed(StoreError::HubFull { .. })) => {}
                Err(error) => return Err(error),
            }
            return Ok(Some((seen, Duration::ZERO)));
        }
    }

    pub(super) async fn lease_state(&self, name: &MemberName) -> Answered<Option<LeaseState>> {
        let seen = self.judge_lease(name).await?;
        Ok(seen.map(|(seen, _)| seen.record.into()))
    }

    /// Returns the states of the wanted leases, and perhaps of others.
    pub(super) async fn leases(
        &self,
        wanted: &[Key],
    ) -> Answered<BTreeMap<MemberName, LeaseState>> {
        let mut leases = BTreeMap::new();
        let messages = if wanted.len() <= FEW {
            let found = self.last_of_each(wanted).await?;
            found.into_iter().flatten().collect()
        } else {
            let pattern = subjects::leases(&self.team);
            self.all_messages(&pattern, wanted).await?
        };
        for message in messages {
            let name = message.subject.rsplit('.').next();
            let Some(name) = name.and_then(|name| MemberName::parse(name).ok()) else {
                continue;
            };
            let seen = self.seen_in(&message)?;
            let is_over = seen.record.state == State::Held && self.left(&seen).await?.is_zero();
            let state = if is_over {
                self.lease_state(&name).await?
            } else {
                Some(seen.record.into())
            };
            leases.extend(state.map(|state| (name, state)));
        }
        Ok(leases)
    }

    /// Takes a lease that nobody holds. Returns it, or the record of its holder.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        name: &MemberName,
        holder: &LifeRecord,
        id: WriteId,
    ) -> Answered<Result<Seen, LifeRecord>> {
        let record = LeaseRecord {
            state: State::Held,
            holder: holder.clone(),
            id,
        };
        loop {
            let seen = self.judge_lease(name).await?;
            let seen = seen.map(|(seen, _)| seen);
            // What an earlier attempt of this call took, whose acknowledgement was lost, is written
            // again: its term begins with this attempt.
            if let Some(seen) = &seen
                && seen.record.state == State::Held
                && seen.record != record
            {
                return Ok(Err(seen.record.holder.clone()));
            }
            let revision = seen.map_or(0, |seen| seen.revision);
            let written = self.write_lease(name, revision, &record).await?;
            if let Published::At(revision) = written {
                let mine = self.see_lease(name).await?;
                self.bells.ring(&Key::lease(name), revision);
                return match mine {
                    Some(mine) if mine.record == record => Ok(Ok(mine)),
                    Some(other) => Ok(Err(other.record.holder)),
                    None => Err(self.absent()),
                };
            }
        }
    }
}
