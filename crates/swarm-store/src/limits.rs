//! How much a team and its inboxes may hold.

/// Bounds of every team in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLimits {
    /// Unread entries beyond which a send is refused. Control frames made by the program still pass, so that a
    /// flooded member can be told to stop.
    pub max_unread: usize,
    /// Teammates that a team may have at a time, those that are being spawned included and the dead not; 0 is no limit.
    pub max_members: usize,
    /// Longest text of a message in bytes. What the program itself writes is not measured: it carries what others
    /// made, such as the input of a tool call.
    pub max_message_bytes: usize,
    /// Acknowledged entries that stay in the file; older ones move to the archive.
    pub keep_acked: usize,
    /// Bytes of the file beyond which acknowledged entries move to the archive, however few they are.
    pub keep_bytes: usize,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            max_unread: 1000,
            max_members: 0,
            max_message_bytes: 256 * 1024,
            keep_acked: 50,
            keep_bytes: 256 * 1024,
        }
    }
}
