//! Placement of the cache markers of a request.
//!
//! A marker makes the server cache the prompt up to its block, and look for an existing entry at
//! that block and a few blocks before it
//! (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>). Each request therefore
//! marks the same blocks that the previous requests marked last and never relies on the lookback,
//! because one turn may add any number of blocks.

use std::sync::Arc;

use crate::message::Role;
use crate::request::ModelRequest;
use crate::stored::{BlockKind, StoredBlock, StoredMessage};

/// Maximum number of markers in a request (API limit).
const MAX_MARKERS: usize = 4;

/// Maximum number of markers in the messages; one is reserved for the system prompt.
const MAX_IN_MESSAGES: usize = MAX_MARKERS - 1;

/// The marked blocks of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Message index and block index of each marked block.
    pub(super) blocks: Vec<(usize, usize)>,
    /// Indexes of the marked system blocks.
    pub(super) system: Vec<usize>,
    /// Whether the last tool is marked.
    pub(super) tools: bool,
}

impl Marks {
    /// Places the markers of a request. The conversation comes first, then the last flagged block
    /// of the system prompt, whose prefix includes the tools. The remaining markers go to the
    /// tools, which agents with different prompts share, and to further system blocks.
    pub(super) fn of(request: &ModelRequest) -> Self {
        let blocks = in_messages(&request.messages);
        let mut left = MAX_MARKERS - blocks.len();
        let flagged = request.system.iter().enumerate().rev();
        let mut flagged = flagged
            .filter(|(_, block)| block.cache && !block.text.is_empty())
            .map(|(index, _)| index);
        let mut system: Vec<usize> = flagged.by_ref().take(1).collect();
        left -= system.len();
        let tools = !request.tools.is_empty() && left > 0;
        left -= usize::from(tools);
        system.extend(flagged.take(left));
        Self {
            blocks,
            system,
            tools,
        }
    }
}

/// Returns the marked blocks: the end of this request; the point where forks of one answer diverge,
/// which is between its results and the text after them; and the ends of the previous requests.
fn in_messages(messages: &[Arc<StoredMessage>]) -> Vec<(usize, usize)> {
    let mut marks = Vec::with_capacity(MAX_IN_MESSAGES);
    let users = messages.iter().enumerate().rev();
    for (at, message) in users.filter(|(_, message)| message.role == Role::User) {
        let Some(end) = message.blocks.iter().rposition(takes_mark) else {
            continue;
        };
        let results = message.blocks[..end].iter().rposition(is_result);
        let boundary = results.filter(|_| marks.is_empty() && !is_result(&message.blocks[end]));
        marks.push((at, end));
        marks.extend(boundary.map(|results| (at, results)));
        if marks.len() >= MAX_IN_MESSAGES {
            break;
        }
    }
    marks
}

/// Whether a block may carry a marker. The API refuses markers on empty blocks; blocks of unknown
/// types are not marked.
fn takes_mark(block: &StoredBlock) -> bool {
    matches!(block.kind(), BlockKind::BlankText | BlockKind::Text) || is_result(block)
}

/// Whether the block is a tool result, with or without images.
fn is_result(block: &StoredBlock) -> bool {
    block.result_id().is_some()
}
