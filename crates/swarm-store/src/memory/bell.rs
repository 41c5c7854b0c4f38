//! Wakes the watchers of a record.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells watchers that a record was written.
#[derive(Debug, Clone, Default)]
pub(super) struct Bell(Arc<watch::Sender<()>>);

impl Bell {
    pub(super) fn ring(&self) {
        self.0.send_replace(());
    }

    /// Returns what resolves at the next ring.
    pub(super) fn heard(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}
