//! Wakes those who watch records.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use futures::future::select_all;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::key::Key;

/// How often something was heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rings {
    /// Writes of the keys that are watched. One may be counted twice.
    pub(crate) writes: u64,
    /// Times after which writes may have been missed.
    pub(crate) gaps: u64,
}

/// Tells watchers that records were written.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<BTreeMap<String, watch::Sender<Rings>>>);

impl Bells {
    /// Wakes those who watch a key or a prefix of it.
    pub(crate) fn ring(&self, key: &str) {
        let is_its = |watched: &str| {
            let rest = key.strip_prefix(watched);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut bells = self.0.lock();
        bells.retain(|_, bell| bell.receiver_count() > 0);
        for (_, bell) in bells.iter().filter(|(watched, _)| is_its(watched)) {
            bell.send_modify(|rings| rings.writes += 1);
        }
    }

    /// Wakes everybody.
    pub(crate) fn ring_all(&self) {
        for bell in self.0.lock().values() {
            bell.send_modify(|rings| rings.gaps += 1);
        }
    }

    /// Returns what changes at the next ring for one of these keys.
    pub(crate) fn heard(&self, keys: &[Key]) -> Heard {
        let mut bells = self.0.lock();
        let mut bell = |key: &Key| {
            bells
                .entry(key.as_str().to_owned())
                .or_default()
                .subscribe()
        };
        Heard(keys.iter().map(&mut bell).collect())
    }
}

/// What is heard of some keys.
#[derive(Debug)]
pub(crate) struct Heard(Vec<watch::Receiver<Rings>>);

impl Heard {
    /// Resolves at the next ring; `false` if there will be none, because the team is deleted.
    pub(crate) async fn changed(&mut self) -> bool {
        let each = self.0.iter_mut().map(|bell| bell.changed().boxed());
        select_all(each).await.0.is_ok()
    }

    /// Returns the rings so far; `None` if there will be no more.
    pub(crate) fn rings(&self) -> Option<Rings> {
        let mut sum = Rings::default();
        for bell in &self.0 {
            bell.has_changed().ok()?;
            let rings = *bell.borrow();
            sum.writes += rings.writes;
            sum.gaps += rings.gaps;
        }
        Some(sum)
    }
}
