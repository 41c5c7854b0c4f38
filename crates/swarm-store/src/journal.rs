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
    /// Position after the last record that was read.
    pub next: Cursor,
}

/// A position in a journal; by default its beginning. Only the store that returned it knows what it
/// means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor(pub(crate) u64);

/// A line of the journal that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenJournalLine {
    /// Byte offset of the line.
    pub at: u64,
    /// The parse error.
    pub reason: String,
}
