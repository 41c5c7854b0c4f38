//! Where a request carries cache markers.
//!
//! A marker makes the server keep the prompt up to its block, and look there, and a few blocks before it, for what an
//! earlier request left (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>). So each request marks the
//! very blocks that the requests before it have marked last, and never relies on looking back: one turn may add any
//! number of blocks.

use std::sync::Arc;

use crate::message::Role;
use crate::request::ModelRequest;
use crate::stored::{BlockKind, StoredBlock, StoredMessage};

/// Markers that one request may carry.
const MOST: usize = 4;

/// Markers that the conversation may have of them; the system prompt keeps one.
const MOST_IN_MESSAGES: usize = MOST - 1;

/// The blocks of a request that are marked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Indexes of messages and their blocks.
    pub(super) blocks: Vec<(usize, usize)>,
    /// Indexes of system blocks.
    pub(super) system: Vec<usize>,
    /// Whether the last tool is marked.
    pub(super) tools: bool,
}

impl Marks {
    /// The markers of a request. The conversation comes first, then the last flagged block of the system prompt, which
    /// stands for the tools too. What is left goes to the tools, which agents of different prompts have in common, and
    /// to further system blocks.
    pub(super) fn of(request: &ModelRequest) -> Self {
        let blocks = in_messages(&request.messages);
        let mut left = MOST - blocks.len();
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

/// The end of this request; where forks of one answer part, which is between its results and the text behind them; and
/// the ends of the requests before.
fn in_messages(messages: &[Arc<StoredMessage>]) -> Vec<(usize, usize)> {
    let mut marks = Vec::with_capacity(MOST_IN_MESSAGES);
    let users = messages.iter().enumerate().rev();
    for (at, message) in users.filter(|(_, message)| message.role == Role::User) {
        let Some(end) = message.blocks.iter().rposition(takes_mark) else {
            continue;
        };
        let results = message.blocks[..end].iter().rposition(is_result);
        let boundary = results.filter(|_| marks.is_empty() && !is_result(&message.blocks[end]));
        marks.push((at, end));
        marks.extend(boundary.map(|results| (at, results)));
        if marks.len() >= MOST_IN_MESSAGES {
            break;
        }
    }
    marks
}

/// The API takes markers on nothing empty; blocks of kinds that this client does not know are left alone.
fn takes_mark(block: &StoredBlock) -> bool {
    matches!(block.kind(), BlockKind::BlankText | BlockKind::Text) || is_result(block)
}

/// Results of calls, also those with pictures in them.
fn is_result(block: &StoredBlock) -> bool {
    block.result_id().is_some()
}
