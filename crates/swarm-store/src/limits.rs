//! How much an inbox may hold.

/// Bounds of every inbox in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLimits {
    /// Unread entries beyond which a send is refused. Control frames made by the program still pass, so that a
    /// flooded member can be told to stop.
    pub max_unread: usize,
    /// Acknowledged entries that stay in the file; older ones move to the archive.
    pub keep_acked: usize,
    /// Bytes of the file beyond which acknowledged entries move to the archive, however few they are.
    pub keep_bytes: usize,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            max_unread: 1000,
            keep_acked: 200,
            keep_bytes: 256 * 1024,
        }
    }
}
