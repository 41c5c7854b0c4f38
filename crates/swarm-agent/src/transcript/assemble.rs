//! From the parts that lines hold to the entries of a session.

use std::sync::Arc;

use swarm_model::{Message, Role, StoredMessage};

use super::entry::{Compaction, Entry};

/// What one line holds.
#[derive(Debug)]
pub(super) enum Part {
    /// All of an entry.
    Whole(Entry),
    /// The first line of a compaction. The number of lines that follow is absent where another program wrote it.
    Boundary(Compaction, Option<usize>),
    /// A message behind a boundary of ours.
    Kept(Arc<StoredMessage>),
    /// The summary behind a boundary of another program.
    Summary(Message),
}

/// Puts parts together. A compaction counts only if all of it is there: without its last line the conversation stays as
/// it was before, which is what a process finds that comes after one that was killed in between.
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

/// A user message that another program wrote as the summary of a conversation.
pub(super) fn summary(content: Vec<swarm_model::ContentBlock>) -> Part {
    let role = Role::User;
    Part::Summary(Message { role, content })
}
