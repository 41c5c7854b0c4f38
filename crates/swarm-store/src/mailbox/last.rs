//! The inbox that was looked at last: most of it is the same at the next look.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use swarm_protocol::OutlinedInbox;

/// The longest file that is remembered, in bytes. An inbox with room for more mail is far below.
const LONGEST: usize = 1024 * 1024;

/// What one inbox file held when it was last read or written. It need not be what the file holds now.
#[derive(Debug, Default)]
pub(crate) struct LastInbox(Mutex<Option<(PathBuf, OutlinedInbox)>>);

impl LastInbox {
    /// Takes what is known of a file; nothing if another one was remembered since.
    pub(super) fn take(&self, path: &Path) -> OutlinedInbox {
        let known = self.0.lock().take_if(|(of, _)| of == path);
        known.map(|(_, inbox)| inbox).unwrap_or_default()
    }

    pub(super) fn keep(&self, path: PathBuf, inbox: OutlinedInbox) {
        let kept = (inbox.text.len() <= LONGEST).then_some((path, inbox));
        *self.0.lock() = kept;
    }
}
