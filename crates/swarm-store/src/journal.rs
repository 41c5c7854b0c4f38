//! `journal.jsonl`: one event a line, append-only.

use swarm_protocol::JournalEntry;

/// Events as read.
#[derive(Debug, Clone, Default)]
pub struct Events {
    /// Oldest first.
    pub entries: Vec<JournalEntry>,
    /// Lines that are no events.
    pub broken: Vec<BrokenLine>,
    /// Position in bytes behind the last line that was read.
    pub next: u64,
}

/// A line of the journal that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLine {
    /// Where it begins, in bytes.
    pub at: u64,
    /// Why it is no event.
    pub reason: String,
}
