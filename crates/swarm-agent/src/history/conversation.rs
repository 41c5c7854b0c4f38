//! The conversation in memory.

use std::collections::HashSet;
use std::sync::Arc;

use swarm_model::{BlockArena, BlockKind, ContentBlock, Role, StoredBlock, StoredMessage};

use super::valid::{self, Valid};
use crate::transcript::{Entry, TurnEnd};

/// Stands in place of a result that was cleared. Claude Code's.
pub(crate) const CLEARED: &str = "[Old tool result content cleared]";

/// What was said, in order. Lines of one role in a row are one message, but for input that comes after a turn has
/// ended without an answer: it begins a message of its own, as it begins a turn. Grows at its end, until a compaction replaces it.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Everything before the last message, as it is sent; nothing changes there any more.
    sent: Valid,
    /// The message before the last.
    former: Option<Arc<StoredMessage>>,
    last: Option<Arc<StoredMessage>>,
    /// The user message at the end has not been answered, nor been given up.
    open: bool,
    /// What comes next begins a message.
    apart: bool,
    /// Where the blocks are stored.
    arena: BlockArena,
}

impl History {
    /// Takes in one line of the transcript.
    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::User { content, .. } => {
                self.push(Role::User, &content);
                self.open = true;
            }
            Entry::Assistant { content, .. } => {
                self.push(Role::Assistant, &content);
                self.open = false;
            }
            // As it was sent, so that it is sent so again.
            Entry::Inherited(message) => {
                self.begin(message);
                self.open = false;
                self.apart = false;
            }
            Entry::Compacted(compaction) => {
                *self = Self::default();
                for message in compaction.messages {
                    self.begin(message);
                }
                self.open = compaction.open;
                self.apart = !compaction.open;
            }
            Entry::Cleared(cleared) => self.clear_results(&cleared.calls),
            Entry::TurnEnd { how, text, .. } => {
                // A failure is the program's affair; a stop is something the model has to know of.
                if how != TurnEnd::Failed && self.waits() {
                    self.push(Role::User, &[ContentBlock::text(format!("[{text}]"))]);
                }
                self.open = false;
                self.apart = true;
            }
        }
    }

    /// Whether nothing was said yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Whether a text is part of something that the model was told.
    pub(crate) fn says(&self, text: &str) -> bool {
        let json = serde_json::Value::from(text).to_string();
        let written = &json[1..json.len() - 1];
        let messages = self.for_model();
        let mut told = messages.iter().filter(|said| said.role == Role::User);
        told.any(|said| {
            let mut texts = said.blocks.iter();
            texts.any(|block| block.kind() == BlockKind::Text && block.json().contains(written))
        })
    }

    /// The texts that the model was told and that begin so, oldest first.
    pub(crate) fn texts_from(&self, beginning: &str) -> Vec<String> {
        let messages = self.for_model();
        let told = messages.iter().filter(|said| said.role == Role::User);
        let texts = told.flat_map(|said| &said.blocks);
        let texts = texts.filter(|block| block.kind() == BlockKind::Text);
        let texts = texts.filter_map(|block| match block.block() {
            ContentBlock::Text { text } if text.starts_with(beginning) => Some(text),
            _ => None,
        });
        texts.collect()
    }

    /// Whether the last word is a user message to which no turn has come to an end.
    pub(crate) fn is_open(&self) -> bool {
        self.open && self.waits()
    }

    /// Whether the last word is a user message.
    pub(crate) fn waits(&self) -> bool {
        self.last
            .as_ref()
            .is_some_and(|last| last.role == Role::User)
    }

    /// The texts of the user message at the end.
    pub(crate) fn waiting_texts(&self) -> Vec<String> {
        let last = self.last.iter().filter(|last| last.role == Role::User);
        let texts = last
            .flat_map(|last| &last.blocks)
            .filter_map(|block| match block.block() {
                ContentBlock::Text { text, .. } => Some(text),
                _ => None,
            });
        texts.collect()
    }

    /// Whether the model has said something.
    pub(crate) fn has_answer(&self) -> bool {
        let last = self.last.as_ref();
        self.former.is_some() || last.is_some_and(|last| last.role == Role::Assistant)
    }

    /// Ids of the calls at the end that have no result yet, in their order.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        valid::unanswered(self.former.as_deref(), self.last.as_deref())
    }

    /// The conversation as the Messages API takes it: begins with a user message, nothing is empty, every call has its
    /// result in the message behind it, and roles alternate but for input after a turn that was given up: that is a
    /// second user message, which the server joins to the first.
    ///
    /// What stands before the last message never changes again, so that the prompt cache holds. It is shared, not copied.
    pub(crate) fn for_model(&self) -> Vec<Arc<StoredMessage>> {
        let mut sent = self.sent.clone();
        if let Some(last) = &self.last {
            sent.take(last);
        }
        sent.finish()
    }

    /// Leaves out the results of these calls. Requests that were made share nothing with what is changed.
    fn clear_results(&mut self, calls: &[String]) {
        let calls: HashSet<&str> = calls.iter().map(String::as_str).collect();
        let ends = self.former.iter_mut().chain(&mut self.last);
        for message in self.sent.messages_mut().chain(ends) {
            let is_meant = |block: &StoredBlock| {
                let id = block.result_id();
                id.is_some_and(|id| calls.contains(&**id))
            };
            if !message.blocks.iter().any(is_meant) {
                continue;
            }
            let message = Arc::make_mut(message);
            for block in message.blocks.iter_mut().filter(|block| is_meant(block)) {
                let is_error = match block.block() {
                    ContentBlock::ToolResult { is_error, .. } => is_error,
                    ContentBlock::Other(value) => value["is_error"] == true,
                    _ => continue,
                };
                let id = block.result_id().map(ToString::to_string);
                *block = self.arena.store(&ContentBlock::ToolResult {
                    tool_use_id: id.unwrap_or_default(),
                    content: CLEARED.to_owned(),
                    is_error,
                });
            }
        }
    }

    fn push(&mut self, role: Role, content: &[ContentBlock]) {
        let apart = std::mem::take(&mut self.apart);
        let blocks = content.iter().map(|block| self.arena.store(block));
        match &mut self.last {
            Some(last) if last.role == role && !apart => {
                Arc::make_mut(last).blocks.extend(blocks);
            }
            _ => {
                let blocks = blocks.collect();
                self.begin(Arc::new(StoredMessage { role, blocks }));
            }
        }
    }

    fn begin(&mut self, message: Arc<StoredMessage>) {
        if let Some(last) = &self.last {
            self.sent.take(last);
        }
        self.former = self.last.replace(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_shared_with_the_next_request_and_not_copied() {
        let mut history = History::default();
        let answer = |content| Entry::Assistant {
            content,
            model: String::new(),
            id: None,
            stop_reason: None,
            usage: swarm_protocol::Usage::default(),
        };
        let call = ContentBlock::ToolUse {
            id: "toolu_1".into(),
            name: "Read".into(),
            input: serde_json::json!({}),
        };
        history.take(Entry::user(vec![ContentBlock::text("look")]));
        history.take(answer(vec![call]));
        let result = ContentBlock::ToolResult {
            tool_use_id: "toolu_1".into(),
            content: "found".into(),
            is_error: false,
        };
        history.take(Entry::user(vec![result]));
        let before = history.for_model();
        history.take(answer(vec![ContentBlock::text("done")]));
        history.take(Entry::user(vec![ContentBlock::text("thanks")]));
        let after = history.for_model();
        assert_eq!((before.len(), after.len()), (3, 5));
        assert!(
            before
                .iter()
                .zip(&after)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
    }
}
