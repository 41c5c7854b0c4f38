//! Assembles the entries of a session from the parts in transcript lines.

use std::sync::Arc;

use swarm_model::{Message, Role, StoredMessage};

use super::entry::{Compaction, Entry, Rewind};

/// The content of one line.
#[derive(Debug)]
pub(super) enum Part {
    Whole(Entry),
    /// The first line of a compaction, and the number of lines that follow it; `None` if another
    /// program wrote it.
    Boundary(Compaction, Option<usize>),
    /// A message after a boundary that swarm wrote.
    Kept(Arc<StoredMessage>),
    /// The summary after a boundary that another program wrote.
    Summary(Message),
    /// A rewind, without the entries that it drops.
    Rewound(Rewind),
}

/// An entry and where it is in the file.
#[derive(Debug)]
pub(super) struct RecordedEntry {
    pub(super) entry: Entry,
    /// Id of its line; of the last one if it has several.
    pub(super) line: Option<String>,
    /// Id of the line before.
    pub(super) parent: Option<String>,
}

/// Assembles parts. A compaction counts only if it is complete: a process killed while writing it
/// leaves the conversation as it was before.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    entries: Vec<RecordedEntry>,
    begun: Option<(Compaction, Option<usize>)>,
}

impl Assembler {
    /// Adds the content of a line with this id, after the line `parent`.
    pub(super) fn take(&mut self, part: Part, line: Option<String>, parent: Option<String>) {
        let entry = match (part, self.begun.take()) {
            (Part::Boundary(compaction, lines), _) => {
                self.begun = Some((compaction, lines));
                return;
            }
            (Part::Kept(message), Some((mut compaction, Some(lines)))) => {
                compaction.messages.push(message);
                if compaction.messages.len() != lines {
                    self.begun = Some((compaction, Some(lines)));
                    return;
                }
                Entry::Compacted(compaction)
            }
            (Part::Summary(message), Some((mut compaction, None))) => {
                compaction.messages.push(Arc::new(message.into()));
                Entry::Compacted(compaction)
            }
            (Part::Summary(Message { content, .. }), _) => Entry::user(content),
            (Part::Whole(entry), _) => entry,
            (Part::Rewound(mut rewind), _) => {
                let dropped = self.entries.split_off(self.position(&rewind.to));
                rewind.dropped = dropped.into_iter().map(|one| one.entry).collect();
                Entry::Rewound(rewind)
            }
            (Part::Kept(_), _) => return,
        };
        self.entries.push(RecordedEntry {
            entry,
            line,
            parent,
        });
    }

    /// Returns the index of the entry in this line, or the end if there is none.
    fn position(&self, line: &str) -> usize {
        let found = (self.entries.iter()).position(|one| one.line.as_deref() == Some(line));
        found.unwrap_or(self.entries.len())
    }

    /// Returns the entries of the conversation.
    pub(super) fn finish(self) -> Vec<Entry> {
        self.entries.into_iter().map(|one| one.entry).collect()
    }

    /// Returns the entries of the conversation and where they are in the file.
    pub(super) fn recorded(self) -> Vec<RecordedEntry> {
        self.entries
    }
}

/// Returns a user message that another program wrote as the summary of a conversation.
pub(super) fn summary(content: Vec<swarm_model::ContentBlock>) -> Part {
    let role = Role::User;
    Part::Summary(Message { role, content })
}
