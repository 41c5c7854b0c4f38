//! Assembles the entries of a session from the parts in transcript lines.

use std::sync::Arc;

use swarm_model::{Message, Role, StoredMessage};

use super::entry::{Compaction, Entry};

/// The content of one line.
#[derive(Debug)]
pub(super) enum Part {
    /// A complete entry.
    Whole(Entry),
    /// The first line of a compaction, and the number of lines that follow it; `None` if another
    /// program wrote it.
    Boundary(Compaction, Option<usize>),
    /// A message after a boundary that swarm wrote.
    Kept(Arc<StoredMessage>),
    /// The summary after a boundary that another program wrote.
    Summary(Message),
}

/// Assembles parts. A compaction counts only if it is complete: a process killed while writing it
/// leaves the conversation as it was before.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    entries: Vec<Entry>,
    begun: Option<(Compaction, Option<usize>)>,
}

impl Assembler {
    pub(super) fn take(&mut self, part: Part) {
        match (part, self.begun.take()) {
            (Part::Boundary(compaction, lines), _) => self.begun = Some((compaction, lines)),
            (Part::Kept(message), Some((mut compaction, Some(lines)))) => {
                compaction.messages.push(message);
                if compaction.messages.len() == lines {
                    self.entries.push(Entry::Compacted(compaction));
                } else {
                    self.begun = Some((compaction, Some(lines)));
                }
            }
            (Part::Summary(message), Some((mut compaction, None))) => {
                compaction.messages.push(Arc::new(message.into()));
                self.entries.push(Entry::Compacted(compaction));
            }
            (Part::Summary(Message { content, .. }), _) => self.entries.push(Entry::user(content)),
            (Part::Whole(entry), _) => self.entries.push(entry),
            (Part::Kept(_), _) => {}
        }
    }

    pub(super) fn finish(self) -> Vec<Entry> {
        self.entries
    }
}

/// Returns a user message that another program wrote as the summary of a conversation.
pub(super) fn summary(content: Vec<swarm_model::ContentBlock>) -> Part {
    let role = Role::User;
    Part::Summary(Message { role, content })
}
