//! How long a lease lasts for its holder.

use std::collections::HashSet;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_os::boot_time;
use swarm_protocol::MemberName;
use tokio::sync::watch;

/// The term of a lease, which its holder gives up at the end by its own clock. Once over, it is not
/// renewed any more.
#[derive(Debug)]
pub(crate) struct LeaseTerm {
    length: Duration,
    /// [`boot_time`] when the request for the last renewal began.
    renewed: Mutex<Duration>,
    over: watch::Sender<bool>,
    lost: Option<LostLease>,
}

/// The names of the leases that a process has lost, after which it may write nothing, and the name of
/// one that it holds.
pub(crate) type LostLease = (watch::Sender<HashSet<MemberName>>, MemberName);

impl LeaseTerm {
    /// Creates the term of a lease that was requested at this [`boot_time`]. Its end is noted in
    /// `lost`.
    pub(crate) fn new(length: Duration, since: Duration, lost: Option<LostLease>) -> Self {
        Self {
            length,
            renewed: Mutex::new(since),
            over: watch::Sender::new(false),
            lost,
        }
    }

    /// Creates the term of a lease that lasts until it is ended.
    pub(crate) fn until_ended() -> Self {
        Self::new(Duration::MAX, Duration::ZERO, None)
    }

    /// Begins a new term with a request that began at this [`boot_time`]. Returns `false` if the lease
    /// is over: this process may already have acted on that.
    pub(crate) fn renew(&self, began: Duration) -> bool {
        let mut renewed = self.renewed.lock();
        if *self.over.borrow() {
            return false;
        }
        *renewed = began;
        true
    }

    /// Ends the lease.
    pub(crate) fn end(&self) {
        let _renewed = self.renewed.lock();
        self.note_end();
    }

    /// Returns how long the lease still lasts without a renewal; zero if it is over.
    pub(crate) fn left(&self) -> Duration {
        let renewed = self.renewed.lock();
        if *self.over.borrow() {
            return Duration::ZERO;
        }
        let age = boot_time().saturating_sub(*renewed);
        self.length.saturating_sub(age)
    }

    /// Whether the lease is over. At the end of the term this ends it.
    pub(crate) fn is_over(&self) -> bool {
        let renewed = self.renewed.lock();
        if boot_time().saturating_sub(*renewed) >= self.length {
            self.note_end();
        }
        *self.over.borrow()
    }

    /// The caller has locked the time of the last renewal.
    fn note_end(&self) {
        if *self.over.borrow() {
            return;
        }
        // Before others hear of the end.
        if let Some((lost, name)) = &self.lost {
            lost.send_modify(|lost| {
                lost.insert(name.clone());
            });
        }
        self.over.send_replace(true);
    }

    /// Resolves when the lease is over. Each event of the task that awaits this looks at the clock: a
    /// process that was frozen finds out before it goes on with anything else. The future does not
    /// keep the term, and a term that was dropped never ends.
    pub(crate) fn ended(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        let (term, mut over) = (Arc::downgrade(self), self.over.subscribe());
        async move {
            let mut told = pin!(async {
                if over.wait_for(|over| *over).await.is_err() {
                    pending::<()>().await;
                }
            });
            poll_fn(|context| {
                if term.upgrade().is_some_and(|term| term.is_over()) {
                    return Poll::Ready(());
                }
                told.as_mut().poll(context)
            })
            .await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const LENGTH: Duration = Duration::from_secs(12);

    /// A term that was last renewed so long ago.
    fn renewed_before(age: Duration) -> Arc<LeaseTerm> {
        Arc::new(LeaseTerm::new(
            LENGTH,
            boot_time().saturating_sub(age),
            None,
        ))
    }

    #[test]
    fn a_holder_that_was_frozen_finds_the_end_by_its_clock_before_anybody_tells_it() {
        let (lost, name) = (watch::Sender::default(), MemberName::lead());
        let noted: Option<LostLease> = Some((lost.clone(), name.clone()));
        let term = Arc::new(LeaseTerm::new(LENGTH, boot_time(), noted));
        let mut ended = pin!(term.ended());
        assert!(ended.as_mut().now_or_never().is_none());
        assert!(!term.is_over() && term.left() > Duration::ZERO);
        // As after a stop of this length.
        *term.renewed.lock() = boot_time().saturating_sub(LENGTH);
        assert_eq!(term.left(), Duration::ZERO);
        assert!(ended.as_mut().now_or_never().is_some());
        assert!(lost.borrow().contains(&name), "it writes nothing more");
    }

    #[test]
    fn a_renewal_that_is_answered_too_late_does_not_revive_the_lease() {
        let term = renewed_before(LENGTH / 2);
        assert!(term.renew(boot_time()));
        let term = renewed_before(LENGTH);
        assert!(term.is_over());
        assert!(!term.renew(boot_time()));
        assert!(term.is_over());
    }

    #[test]
    fn a_lease_without_an_end_is_over_once_it_is_ended() {
        let term = Arc::new(LeaseTerm::until_ended());
        let (before, dropped) = (term.ended(), Arc::new(LeaseTerm::until_ended()).ended());
        assert!(!term.is_over());
        term.end();
        assert!(term.is_over());
        assert!(before.now_or_never().is_some());
        assert!(dropped.now_or_never().is_none());
    }
}
