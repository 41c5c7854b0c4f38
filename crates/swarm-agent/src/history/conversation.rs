//! The conversation in memory.

use std::collections::HashSet;
use std::sync::Arc;

use swarm_model::{BlockKind, ContentBlock, Role, StoredBlock, StoredMessage};

use super::valid::{self, Valid};
use crate::transcript::{Entry, TurnEnd};

/// Placeholder of a cleared result. From Claude Code.
pub(crate) const CLEARED: &str = "[Old tool result content cleared]";

/// Returns the text blocks of user messages, oldest first.
pub(crate) fn user_texts(messages: &[Arc<StoredMessage>]) -> impl Iterator<Item = &StoredBlock> {
    let users = messages.iter().filter(|message| message.role == Role::User);
    let blocks = users.flat_map(|message| &message.blocks);
    blocks.filter(|block| block.kind() == BlockKind::Text)
}

/// The messages in order. Consecutive lines of one role form one message. Input after a turn that
/// ended without a response is the exception: it starts a new message. The history only grows,
/// until a compaction replaces it.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Everything before the last message in the form that is sent; it does not change any more.
    sent: Valid,
    previous: Option<Arc<StoredMessage>>,
    last: Option<Arc<StoredMessage>>,
    /// The user message at the end has neither a response nor the end of a turn.
    open: bool,
    /// The next line starts a new message, even with the same role.
    separate: bool,
}

impl History {
    /// Applies one line of the transcript.
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
            // Kept as a message, so that it is sent again with the same bytes.
            Entry::Inherited(message) => {
                self.begin(message);
                self.open = false;
                self.separate = false;
            }
            Entry::Compacted(compaction) => {
                *self = Self::default();
                for message in compaction.messages {
                    self.begin(message);
                }
                self.open = compaction.open;
                self.separate = !compaction.open;
            }
            Entry::Cleared(cleared) => self.clear_results(&cleared.calls),
            Entry::Rewound(rewind) => {
                if !rewind.mail.is_empty() {
                    self.push(Role::User, &rewind.mail);
                }
                self.open = false;
                self.separate = true;
            }
            Entry::TurnEnd { how, text, .. } => {
                // The model does not need to know about a failure of the program, but about an
                // interruption.
                if how != TurnEnd::Failed && self.waits() {
                    self.push(Role::User, &[ContentBlock::text(format!("[{text}]"))]);
                }
                self.open = false;
                self.separate = true;
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    pub(crate) fn contains_user_text(&self, text: &str) -> bool {
        let json = serde_json::Value::from(text).to_string();
        let written = &json[1..json.len() - 1];
        user_texts(&self.for_model()).any(|block| block.json().contains(written))
    }

    /// Returns the texts of user messages that start with `beginning`, oldest first.
    pub(crate) fn texts_from(&self, beginning: &str) -> Vec<String> {
        let messages = self.for_model();
        let texts = user_texts(&messages).filter_map(|block| match block.block() {
            ContentBlock::Text { text } if text.starts_with(beginning) => Some(text),
            _ => None,
        });
        texts.collect()
    }

    /// Returns whether the conversation ends with a user message for which no turn has ended.
    pub(crate) fn is_open(&self) -> bool {
        self.open && self.waits()
    }

    /// Returns whether the conversation ends with a user message.
    pub(crate) fn waits(&self) -> bool {
        self.last
            .as_ref()
            .is_some_and(|last| last.role == Role::User)
    }

    /// Returns the texts of the user message at the end.
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

    pub(crate) fn has_answer(&self) -> bool {
        let last = self.last.as_ref();
        self.previous.is_some() || last.is_some_and(|last| last.role == Role::Assistant)
    }

    /// Returns the ids of the calls at the end that have no result yet, in their order.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        valid::unanswered(self.previous.as_deref(), self.last.as_deref())
    }

    /// Returns the conversation in the form that the Messages API accepts: it begins with a user
    /// message, no message is empty, and the results of calls follow in the next message. Roles
    /// alternate, except for input after a turn that ended without a response: the server joins it
    /// to the user message before it.
    ///
    /// Everything before the last message never changes again, which keeps the prompt cache valid.
    /// It is shared, not copied.
    pub(crate) fn for_model(&self) -> Vec<Arc<StoredMessage>> {
        let mut sent = self.sent.clone();
        if let Some(last) = &self.last {
            sent.take(last);
        }
        sent.finish()
    }

    /// Replaces the results of these calls with a placeholder. Earlier requests do not see the
    /// change.
    fn clear_results(&mut self, calls: &[String]) {
        let calls: HashSet<&str> = calls.iter().map(String::as_str).collect();
        let ends = self.previous.iter_mut().chain(&mut self.last);
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
                *block = StoredBlock::from(&ContentBlock::ToolResult {
                    tool_use_id: id.unwrap_or_default(),
                    content: CLEARED.to_owned(),
                    is_error,
                });
            }
        }
        self.sent.pack();
    }

    fn push(&mut self, role: Role, content: &[ContentBlock]) {
        let separate = std::mem::take(&mut self.separate);
        let blocks = content.iter().map(StoredBlock::from);
        match &mut self.last {
            Some(last) if last.role == role && !separate => {
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
            self.sent.pack();
        }
        self.previous = self.last.replace(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_request_shares_the_earlier_messages() {
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
