//! The conversation in memory.

use swarm_model::{ContentBlock, Message, Role};

use super::valid;
use crate::transcript::{Entry, TurnEnd};

/// What was said, in order. Lines of one role in a row are one message, but for input that comes after a turn has
/// ended without an answer: it begins a message of its own, as it begins a turn. Only ever grows at its end.
#[derive(Debug, Default)]
pub(crate) struct History {
    said: Vec<Message>,
    /// The user message at the end has not been answered, nor been given up.
    open: bool,
    /// What comes next begins a message.
    apart: bool,
}

impl History {
    /// Takes in one line of the transcript.
    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::User { content, .. } => {
                self.push(Role::User, content);
                self.open = true;
            }
            Entry::Assistant { content, .. } => {
                self.push(Role::Assistant, content);
                self.open = false;
            }
            // As it was sent, so that it is sent so again.
            Entry::Inherited(message) => {
                self.said.push(message);
                self.open = false;
                self.apart = false;
            }
            Entry::TurnEnd { how, text, .. } => {
                // A failure is the program's affair; a stop is something the model has to know of.
                if how != TurnEnd::Failed && self.waits() {
                    self.push(Role::User, vec![ContentBlock::text(format!("[{text}]"))]);
                }
                self.open = false;
                self.apart = true;
            }
        }
    }

    /// Whether nothing was said yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Whether the last word is a user message to which no turn has come to an end.
    pub(crate) fn is_open(&self) -> bool {
        self.open && self.waits()
    }

    /// Whether the last word is a user message.
    pub(crate) fn waits(&self) -> bool {
        self.said.last().is_some_and(|last| last.role == Role::User)
    }

    /// Ids of the calls at the end that have no result yet, in their order.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        valid::unanswered(&self.said)
    }

    /// The conversation as the Messages API takes it: begins with a user message, nothing is empty, every call has its
    /// result in the message behind it, and roles alternate but for input after a turn that was given up: that is a
    /// second user message, which the server joins to the first.
    ///
    /// What stands before the last message never changes again, so that the prompt cache holds.
    pub(crate) fn for_model(&self) -> Vec<Message> {
        valid::messages(&self.said)
    }

    fn push(&mut self, role: Role, content: Vec<ContentBlock>) {
        let apart = std::mem::take(&mut self.apart);
        match self.said.last_mut() {
            Some(last) if last.role == role && !apart => last.content.extend(content),
            _ => self.said.push(Message { role, content }),
        }
    }
}
