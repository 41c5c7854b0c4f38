//! Limits of a team and its inboxes.

use std::time::Duration;

/// Limits that apply to each team of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLimits {
    /// Maximum number of unread entries. Control frames of the program are exempt, so that a
    /// flooded member can be asked to stop.
    pub max_unread: usize,
    /// Maximum number of teammates, including those being spawned but not dead ones; 0 means no
    /// limit.
    pub max_members: usize,
    /// Maximum message text in bytes. Messages of the program are exempt: they carry text of
    /// others, such as the input of a tool call.
    pub max_message_bytes: usize,
    /// Acknowledged entries that stay in the file; older ones move to the archive.
    pub keep_acked: usize,
    /// Bytes of the file beyond which acknowledged entries move to the archive, regardless of their
    /// number.
    pub keep_bytes: usize,
    /// Maximum size of a large value in bytes, which processes hold in memory.
    pub max_blob_bytes: u64,
    /// How long a large value on a hub is kept that no published branch names, by the server's
    /// clock. Such values are used within hours.
    pub keep_unnamed_blobs: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            max_unread: 1000,
            max_members: 0,
            max_message_bytes: 256 * 1024,
            keep_acked: 50,
            keep_bytes: 256 * 1024,
            max_blob_bytes: 256_000_000,
            keep_unnamed_blobs: Duration::from_hours(24),
        }
    }
}
