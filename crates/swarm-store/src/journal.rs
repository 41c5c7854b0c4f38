//! Records read from a journal.

use swarm_protocol::JournalEntry;

/// Events read from a journal.
pub type Events = JournalLines<JournalEntry>;

/// Records read from a file with one record per line.
#[derive(Debug, Clone)]
pub struct JournalLines<T> {
    /// Oldest first.
    pub entries: Vec<T>,
    /// Lines that are not valid records.
    pub broken: Vec<BrokenJournalLine>,
    /// Byte offset after the last line that was read.
    pub next: u64,
}

/// A line of the journal that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenJournalLine {
    /// Byte offset of the line.
    pub at: u64,
    /// The parse error.
    pub reason: String,
}
