//! From what was said to what the Messages API accepts.

use std::sync::Arc;

use swarm_model::{BlockKind, ContentBlock, Message, Role, StoredBlock, StoredMessage};

/// The result of a call whose own result was lost.
pub(crate) const INTERRUPTED: &str = "The call was interrupted before its result was recorded. It may have run: look at its effects before you repeat it.";

/// Stands in front of a result whose call is lost.
const ORPHAN: &str = "[Result of an earlier tool call that is no longer part of this conversation]";

/// Stands where the beginning of a conversation is lost.
const LOST_BEGINNING: &str = "[The beginning of this conversation is lost]";

/// A result that says why a call failed.
pub(crate) fn error_result(id: &str, why: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: why.to_owned(),
        is_error: true,
    }
}

/// Ids of the calls at the end that have no result, in their order. `last` is the last message, `former` the one before.
pub(super) fn unanswered(
    former: Option<&StoredMessage>,
    last: Option<&StoredMessage>,
) -> Vec<String> {
    let (calls, after) = match (former, last) {
        (_, Some(calls)) if calls.role == Role::Assistant => (calls, &[][..]),
        (Some(calls), Some(after)) => (calls, &after.blocks[..]),
        _ => return Vec::new(),
    };
    let mut results: Vec<&Arc<str>> = after.iter().filter_map(StoredBlock::result_id).collect();
    call_ids(&calls.blocks)
        .filter(|id| match results.iter().position(|known| known == id) {
            Some(at) => {
                results.remove(at);
                false
            }
            None => true,
        })
        .map(ToString::to_string)
        .collect()
}

/// A conversation in valid form, message by message. Clones share the messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Valid {
    messages: Vec<Arc<StoredMessage>>,
    /// Calls of the last answers that have no result yet.
    calls: Vec<Arc<str>>,
    last_role: Option<Role>,
}

impl Valid {
    /// Takes in the next message.
    pub(super) fn take(&mut self, message: &Arc<StoredMessage>) {
        // Two user messages that were kept apart stay apart; those between which nothing is left do not.
        let apart = message.role == Role::User && self.last_role == Some(Role::User);
        self.last_role = Some(message.role);
        let calls = match message.role {
            Role::User => std::mem::take(&mut self.calls),
            Role::Assistant => Vec::new(),
        };
        self.calls.extend(match message.role {
            Role::User => Vec::new(),
            Role::Assistant => call_ids(&message.blocks).cloned().collect(),
        });
        if is_valid(message, &calls) {
            return self.push(Arc::clone(message), apart);
        }
        let blocks = match message.role {
            Role::User => results_first(&calls, visible(&message.blocks)),
            Role::Assistant => spoken(&message.blocks),
        };
        let role = message.role;
        self.push(Arc::new(StoredMessage { role, blocks }), apart);
    }

    /// The whole conversation, with results for calls that have none.
    pub(super) fn finish(mut self) -> Vec<Arc<StoredMessage>> {
        if !self.calls.is_empty() {
            let blocks = results_first(&std::mem::take(&mut self.calls), Vec::new());
            let role = Role::User;
            self.push(Arc::new(StoredMessage { role, blocks }), false);
        }
        self.messages
    }

    /// The messages, to shorten results in them.
    pub(super) fn messages_mut(&mut self) -> impl Iterator<Item = &mut Arc<StoredMessage>> {
        self.messages.iter_mut()
    }

    fn push(&mut self, message: Arc<StoredMessage>, apart: bool) {
        if message.blocks.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == message.role && !apart => {
                let blocks = message.blocks.iter().cloned();
                Arc::make_mut(last).blocks.extend(blocks);
            }
            None if message.role == Role::Assistant => {
                let beginning = StoredMessage::from(Message::user_text(LOST_BEGINNING));
                self.messages.extend([Arc::new(beginning), message]);
            }
            _ => self.messages.push(message),
        }
    }
}

/// Whether a message is sent as it was said: nothing in it is to be left out, and its first blocks are the results of
/// `calls`, in their order.
fn is_valid(message: &StoredMessage, calls: &[Arc<str>]) -> bool {
    let blocks = &message.blocks;
    if blocks.iter().any(is_blank) {
        return false;
    }
    match message.role {
        Role::Assistant => !blocks.last().is_some_and(is_thinking),
        Role::User => {
            let results = blocks.iter().map(StoredBlock::result_id);
            let expected = calls.iter().map(Some).chain(std::iter::repeat(None));
            blocks.len() >= calls.len() && results.zip(expected).all(|(one, other)| one == other)
        }
    }
}

fn is_blank(block: &StoredBlock) -> bool {
    matches!(block.kind(), BlockKind::EmptyText | BlockKind::BlankText)
}

fn is_thinking(block: &StoredBlock) -> bool {
    matches!(
        block.kind(),
        BlockKind::Thinking | BlockKind::UnsignedThinking
    )
}

/// Without text blocks that are empty, which the server refuses.
fn visible(blocks: &[StoredBlock]) -> Vec<StoredBlock> {
    let filled = blocks.iter().filter(|block| !is_blank(block));
    filled.cloned().collect()
}

/// What the model said, without thinking that led to nothing: an answer cut off while thinking cannot be replayed.
fn spoken(blocks: &[StoredBlock]) -> Vec<StoredBlock> {
    let mut blocks = visible(blocks);
    while blocks.last().is_some_and(is_thinking) {
        blocks.pop();
    }
    blocks
}

/// A user message behind the calls `calls`: one result for each, in their order, then everything else.
fn results_first(calls: &[Arc<str>], blocks: Vec<StoredBlock>) -> Vec<StoredBlock> {
    let is_result = |block: &StoredBlock| block.result_id().is_some();
    let (mut results, rest): (Vec<_>, Vec<_>) = blocks.into_iter().partition(is_result);
    let mut out: Vec<StoredBlock> = calls
        .iter()
        .map(|call| {
            match results
                .iter()
                .position(|block| block.result_id() == Some(call))
            {
                Some(at) => results.remove(at),
                None => StoredBlock::from(&error_result(call, INTERRUPTED)),
            }
        })
        .collect();
    out.extend(results.iter().filter_map(orphan));
    out.extend(rest);
    out
}

/// A result without its call, as text.
fn orphan(result: &StoredBlock) -> Option<StoredBlock> {
    match result.block() {
        ContentBlock::ToolResult { content, .. } => {
            let text = ContentBlock::text(format!("{ORPHAN}\n{content}"));
            Some(StoredBlock::from(&text))
        }
        _ => None,
    }
}

fn call_ids(blocks: &[StoredBlock]) -> impl Iterator<Item = &Arc<str>> {
    blocks.iter().filter_map(StoredBlock::call_id)
}
