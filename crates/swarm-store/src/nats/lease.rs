//! Leases that this process holds or waits for.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::boot_time;
use swarm_protocol::{MemberName, SpawnId};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::lease_record::{LeaseRecord, Seen, State};
use super::requests::{Published, Requests};
use crate::lease::Held;
use crate::lease_term::LeaseTerm;
use crate::records::{Answered, Heard, Key, NoAnswer};
use crate::{Result, StoreError};

/// Longest wait for one request about a lease.
const REQUEST: Duration = Duration::from_secs(3);

/// Pause before a request that was not answered is repeated.
const AGAIN: Duration = Duration::from_millis(300);

/// How long a release may take. If it fails, the lease ends by itself.
const RELEASE: Duration = Duration::from_secs(2);

/// A lease of this process. Released when dropped.
#[derive(Debug)]
pub(super) struct HeldLease {
    requests: Arc<Requests>,
    name: MemberName,
    record: LeaseRecord,
    term: Arc<LeaseTerm>,
    renewing: JoinHandle<()>,
}

impl HeldLease {
    /// `since` is a [`boot_time`] before the lease was written.
    pub(super) fn new(
        requests: &Arc<Requests>,
        name: MemberName,
        taken: Seen,
        since: Duration,
    ) -> Self {
        requests.forget_lost(&name);
        let lost = (requests.lost.clone(), name.clone());
        let term = LeaseTerm::new(requests.terms.term, since, Some(lost));
        let term = Arc::new(term);
        let renewal = Renewal {
            requests: Arc::clone(requests),
            name: name.clone(),
            last: taken.clone(),
            term: Arc::clone(&term),
        };
        let renewing = requests.hub.spawn(renewal.run());
        Self {
            requests: Arc::clone(requests),
            name,
            record: taken.record,
            term,
            renewing,
        }
    }
}

impl Held for HeldLease {
    fn term(&self) -> Option<&Arc<LeaseTerm>> {
        Some(&self.term)
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.renewing.abort();
        let state = if self.term.left().is_zero() {
            State::Ended
        } else {
            State::Released
        };
        let requests = Arc::clone(&self.requests);
        let (name, id) = (self.name.clone(), self.record.id);
        let released = self.requests.hub.wait(RELEASE, async move {
            let is_mine = |record: &LeaseRecord| record.id == id;
            requests.set_state(&name, state, is_mine).await
        });
        if released.is_err() {
            tracing::warn!(name = %self.name, "a lease was not released: it ends by itself");
        }
    }
}

impl Requests {
    /// Releases the lease of a dead process of this spawn.
    pub(super) async fn end_lease(&self, name: &MemberName, spawn: SpawnId) -> Answered<()> {
        let is_its =
            |record: &LeaseRecord| record.state == State::Held && record.holder.spawn_id == spawn;
        self.set_state(name, State::Released, is_its).await
    }

    async fn set_state(
        &self,
        name: &MemberName,
        state: State,
        is_meant: impl Fn(&LeaseRecord) -> bool + Send,
    ) -> Answered<()> {
        loop {
            let Some(mut seen) = self.see_lease(name).await? else {
                return Ok(());
            };
            if !is_meant(&seen.record) || seen.record.state == state {
                return Ok(());
            }
            seen.record.state = state;
            let written = self.write_lease(name, seen.revision, &seen.record).await?;
            if let Published::At(revision) = written {
                self.bells.ring(&Key::lease(name), revision);
                return Ok(());
            }
        }
    }

    /// Tells when a lease is not held.
    pub(super) async fn tell_end(
        self: Arc<Self>,
        name: MemberName,
        tell: oneshot::Sender<Result<()>>,
    ) {
        let mut tell = tell;
        let mut changes = self.heard(&[Key::lease(&name)]);
        let ended = tokio::select! {
            ended = self.until_end(&name, &mut changes) => ended,
            () = tell.closed() => return,
        };
        // The receiver may have been dropped.
        drop(tell.send(ended));
    }

    async fn until_end(&self, name: &MemberName, changes: &mut Heard) -> Result<()> {
        loop {
            let pause = match tokio::time::timeout(REQUEST, self.judge_lease(name)).await {
                Ok(Ok(Some((seen, left)))) if seen.record.state == State::Held => left,
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(NoAnswer::Failed(error))) => return Err(error),
                Ok(Err(NoAnswer::Unanswered(_))) | Err(_) => AGAIN,
            };
            tokio::select! {
                () = sleep(pause + AGAIN) => {}
                _ = changes.changed() => {}
            }
        }
    }

    pub(super) fn forget_lost(&self, name: &MemberName) {
        self.lost.send_if_modified(|lost| {
            lost.remove(name);
            // Nobody waits for that.
            false
        });
    }

    /// Returns the error for a process that has lost a lease.
    pub(super) fn require_leases(&self) -> Result<()> {
        match self.lost.borrow().iter().next() {
            None => Ok(()),
            Some(name) => Err(StoreError::LeaseLost {
                team: self.team.clone(),
                name: name.clone(),
            }),
        }
    }
}

/// Renews a lease until it is lost.
struct Renewal {
    requests: Arc<Requests>,
    name: MemberName,
    /// The lease as this process last wrote it.
    last: Seen,
    term: Arc<LeaseTerm>,
}

impl Renewal {
    async fn run(mut self) {
        let renewal = self.requests.terms.renewal;
        let mut pause = renewal;
        loop {
            sleep(pause.min(self.term.left())).await;
            let began = boot_time();
            // Others may take the lease at the end of its term, so no attempt lasts longer.
            let at_most = renewal.min(self.term.left());
            let renewed = tokio::time::timeout(at_most, self.renew()).await;
            pause = match renewed {
                Ok(Ok(Some(seen))) => {
                    if !self.term.renew(began) {
                        break;
                    }
                    self.last = seen;
                    renewal
                }
                // The team is deleted, or the credentials are withdrawn.
                Ok(Err(NoAnswer::Failed(error))) if self.term.is_over() => {
                    tracing::warn!(%error, name = %self.name, "the lease cannot be renewed");
                    break;
                }
                // Nobody can have taken it before its term is over.
                Ok(Err(_)) | Err(_) if !self.term.is_over() => AGAIN,
                Ok(_) | Err(_) => break,
            };
        }
        tracing::warn!(name = %self.name, "the lease is lost");
        self.term.end();
        let lease = Key::lease(&self.name);
        self.requests.bells.ring_watched(&lease, None);
        self.park().await;
    }

    /// Tells others that this process still exists, as soon as the hub answers and has room.
    async fn park(&self) {
        let id = self.last.record.id;
        loop {
            let parking = self
                .requests
                .set_state(&self.name, State::Parked, |record| record.id == id);
            match tokio::time::timeout(REQUEST, parking).await {
                // Only an attempt tells whether there is room again.
                Ok(Err(NoAnswer::Failed(StoreError::HubFull { .. }))) => {
                    sleep(self.requests.terms.renewal).await;
                }
                Ok(Ok(()) | Err(NoAnswer::Failed(_))) => return,
                Ok(Err(NoAnswer::Unanswered(_))) | Err(_) => sleep(AGAIN).await,
            }
        }
    }

    /// Returns the renewed lease; `None` if it is lost.
    async fn renew(&self) -> Answered<Option<Seen>> {
        let (name, last) = (&self.name, &self.last);
        let before = self.requests.see_lease(name).await?;
        // Writes of this process whose acknowledgement was lost count too.
        let Some(before) = before.filter(|seen| seen.record == last.record) else {
            return Ok(None);
        };
        if self.is_gap(last, &before) {
            return Ok(None);
        }
        let written = self.requests.renew_lease(name, &before);
        let Published::At(_) = written.await? else {
            return Err(self.requests.unanswered());
        };
        let after = self.requests.see_lease(name).await?;
        Ok(after.filter(|after| after.record == last.record && !self.is_gap(&before, after)))
    }

    /// Returns whether the lease had ended between two writes, by the server's clock: this process
    /// was stopped, or its machine slept.
    fn is_gap(&self, earlier: &Seen, later: &Seen) -> bool {
        let gap = u128::try_from(later.at - earlier.at).unwrap_or(0);
        gap > self.requests.terms.term.as_nanos()
    }
}
