//! The last messages of a conversation, which a compaction keeps as they were said.

use std::sync::Arc;

use swarm_model::{Role, StoredBlock, StoredMessage};

use super::meter::size;
use super::shorten::with_short_results;

/// Where a conversation may begin so that every call in it has its result, and every result its call.
pub(super) fn is_beginning(message: &StoredMessage) -> bool {
    let mut blocks = message.blocks.iter();
    message.role == Role::Assistant || !blocks.any(|block| block.result_id().is_some())
}

/// The last messages that have room in `bytes`; at least the last one, with the calls that it answers. Results of the
/// latter that are too long for the room are cut.
pub(super) fn tail(messages: &[Arc<StoredMessage>], bytes: u64) -> Vec<Arc<StoredMessage>> {
    let beginnings = (0..messages.len()).rev();
    let beginnings = beginnings.filter(|at| is_beginning(&messages[*at]));
    let sizes = beginnings.map(|at| {
        let all: u64 = messages[at..].iter().map(|message| size(message)).sum();
        (at, all)
    });
    let mut kept = None;
    for (at, all) in sizes {
        if all > bytes && kept.is_some() {
            break;
        }
        kept = Some((at, all));
        if all > bytes {
            break;
        }
    }
    let Some((at, all)) = kept else {
        return Vec::new();
    };
    let last = &messages[at..];
    if all <= bytes {
        return last.to_vec();
    }
    let blocks = last.iter().flat_map(|message| &message.blocks);
    let results = blocks.filter(|block| block.result_id().is_some()).count();
    with_short_results(last, share(bytes, results))
}

/// Bytes of one of so many results.
fn share(bytes: u64, results: usize) -> usize {
    let share = bytes / results.max(1) as u64;
    usize::try_from(share).unwrap_or(usize::MAX)
}

/// The paths of the files that these messages show.
pub(super) fn files_read(messages: &[Arc<StoredMessage>]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    let calls = blocks.filter(|block| block.call_id().is_some());
    calls
        .map(StoredBlock::block)
        .filter_map(|block| match block {
            swarm_model::ContentBlock::ToolUse { name, input, .. } if name == "Read" => {
                input["file_path"].as_str().map(str::to_owned)
            }
            _ => None,
        })
        .collect()
}
