//! Turns a recorded conversation into one that the Messages API accepts.

use std::sync::Arc;

use swarm_model::{BlockKind, ContentBlock, Message, Role, StoredBlock, StoredMessage, pack};

/// Beginning of the result of a call that was not run.
pub(crate) const CALL_NOT_RUN: &str = "The call was not run";

/// The result of a call whose actual result was lost.
pub(crate) const INTERRUPTED: &str = "The call was interrupted before its result was recorded. It may have run: look at its effects before you repeat it.";

/// Precedes a result whose call was lost.
const ORPHAN: &str = "[Result of an earlier tool call that is no longer part of this conversation]";

const LOST_BEGINNING: &str = "[The beginning of this conversation is lost]";

/// Returns an error result with the reason for the failure.
pub(crate) fn error_result(id: &str, why: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: why.to_owned(),
        is_error: true,
    }
}

/// Returns the ids of the calls at the end that have no result, in their order. `previous` is the
/// message before `last`.
pub(super) fn unanswered(
    previous: Option<&StoredMessage>,
    last: Option<&StoredMessage>,
) -> Vec<String> {
    let (calls, after) = match (previous, last) {
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

/// A valid conversation, built message by message. Clones share the messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Valid {
    messages: Vec<Arc<StoredMessage>>,
    /// Number of messages at the start that are packed.
    packed: usize,
    /// Calls of the last responses that have no result yet.
    calls: Vec<Arc<str>>,
    last_role: Option<Role>,
}

impl Valid {
    pub(super) fn take(&mut self, message: &Arc<StoredMessage>) {
        // Two separate user messages stay separate, unless the assistant message between them was
        // dropped as empty.
        let separate = message.role == Role::User && self.last_role == Some(Role::User);
        self.last_role = Some(message.role);
        let mut calls = Vec::new();
        match message.role {
            Role::User => calls = std::mem::take(&mut self.calls),
            Role::Assistant => self.calls.extend(call_ids(&message.blocks).cloned()),
        }
        if is_valid(message, &calls) {
            return self.push(Arc::clone(message), separate);
        }
        let blocks = match message.role {
            Role::User => results_first(&calls, visible(&message.blocks)),
            Role::Assistant => without_trailing_thinking(&message.blocks),
        };
        let role = message.role;
        self.push(Arc::new(StoredMessage { role, blocks }), separate);
    }

    /// Returns the whole conversation, with results for calls that have none.
    pub(super) fn finish(mut self) -> Vec<Arc<StoredMessage>> {
        if !self.calls.is_empty() {
            let blocks = results_first(&std::mem::take(&mut self.calls), Vec::new());
            let role = Role::User;
            self.push(Arc::new(StoredMessage { role, blocks }), false);
        }
        self.messages
    }

    /// Packs messages that are followed by enough others.
    pub(super) fn pack(&mut self) {
        self.packed += pack(&mut self.messages[self.packed..]);
    }

    /// Returns the messages so that results can be replaced. They count as not packed: the memory
    /// of a replaced result is only freed once the others in it are packed again.
    pub(super) fn messages_mut(&mut self) -> impl Iterator<Item = &mut Arc<StoredMessage>> {
        self.packed = 0;
        self.messages.iter_mut()
    }

    fn push(&mut self, message: Arc<StoredMessage>, separate: bool) {
        if message.blocks.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == message.role && !separate => {
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

/// Returns whether a message can be sent unchanged: it contains nothing to leave out, and it begins
/// with the results of `calls` in their order.
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

/// Returns the blocks without empty text blocks, which the server rejects.
fn visible(blocks: &[StoredBlock]) -> Vec<StoredBlock> {
    let filled = blocks.iter().filter(|block| !is_blank(block));
    filled.cloned().collect()
}

/// Returns the model's blocks without trailing thinking: a response cut off while thinking cannot
/// be replayed.
fn without_trailing_thinking(blocks: &[StoredBlock]) -> Vec<StoredBlock> {
    let mut blocks = visible(blocks);
    while blocks.last().is_some_and(is_thinking) {
        blocks.pop();
    }
    blocks
}

/// Returns the blocks of the user message after `calls`: one result per call in their order, then
/// everything else.
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

/// Returns a result without its call as text.
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
