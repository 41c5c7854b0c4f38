//! Wakes those who watch records.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::space::Key;

/// Tells watchers that records were written.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<BTreeMap<String, watch::Sender<()>>>);

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
            bell.send_replace(());
        }
    }

    /// Wakes everybody.
    pub(crate) fn ring_all(&self) {
        for bell in self.0.lock().values() {
            bell.send_replace(());
        }
    }

    /// Returns what changes at the next ring.
    pub(crate) fn heard(&self, key: &Key) -> watch::Receiver<()> {
        let mut bells = self.0.lock();
        let bell = bells.entry(key.as_str().to_owned()).or_default();
        bell.subscribe()
    }
}
