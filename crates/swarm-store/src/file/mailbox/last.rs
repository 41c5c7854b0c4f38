//! Cache of the last inbox that was read: most of it is unchanged at the next read.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use swarm_protocol::OutlinedInbox;

/// Maximum size of a cached file in bytes. Most inboxes are far smaller.
const LONGEST: usize = 1024 * 1024;

/// Content of one inbox file when it was last read or written. The file may have changed since.
#[derive(Debug, Default)]
pub(crate) struct LastInbox(Mutex<Option<(PathBuf, OutlinedInbox)>>);

impl LastInbox {
    /// Takes the cached content of a file; empty if another file is cached.
    pub(super) fn take(&self, path: &Path) -> OutlinedInbox {
        let known = self.0.lock().take_if(|(of, _)| of == path);
        known.map(|(_, inbox)| inbox).unwrap_or_default()
    }

    pub(super) fn keep(&self, path: PathBuf, inbox: OutlinedInbox) {
        let kept = (inbox.text.len() <= LONGEST).then_some((path, inbox));
        *self.0.lock() = kept;
    }
}
