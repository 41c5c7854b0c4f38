//! The last messages of a conversation, which a compaction keeps unchanged.

use std::sync::Arc;

use swarm_model::{StoredBlock, StoredMessage};

use super::meter::size;
use super::shorten::{is_beginning, with_short_results};

/// Returns the index at which the last messages that fit into `bytes` begin, and their size. At
/// least the last message and the calls that it answers are included.
pub(super) fn beginning(messages: &[Arc<StoredMessage>], bytes: u64) -> (usize, u64) {
    let (mut kept, mut all) = (None, 0);
    for (at, message) in messages.iter().enumerate().rev() {
        all += size(message);
        if all > bytes && kept.is_some() {
            break;
        }
        if is_beginning(message) {
            kept = Some((at, all));
        }
    }
    kept.unwrap_or((0, all))
}

/// Returns the last messages that fit into `bytes`. If not even the last one does, its results are
/// cut.
pub(super) fn tail(messages: &[Arc<StoredMessage>], bytes: u64) -> Vec<Arc<StoredMessage>> {
    let (at, all) = beginning(messages, bytes);
    let last = &messages[at..];
    if all <= bytes {
        return last.to_vec();
    }
    let blocks = last.iter().flat_map(|message| &message.blocks);
    let results = blocks.filter(|block| block.result_id().is_some()).count();
    with_short_results(last, share(bytes, results))
}

/// Returns the bytes available for each of `results` results.
fn share(bytes: u64, results: usize) -> usize {
    let share = bytes / results.max(1) as u64;
    usize::try_from(share).unwrap_or(usize::MAX)
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_model::{ContentBlock, Message};

    use super::*;

    /// A prompt, and responses with one or two calls, each followed by its results.
    fn conversation() -> Vec<Arc<StoredMessage>> {
        let mut messages = vec![Message::user_text("go")];
        for turn in 0..6 {
            let ids: Vec<String> = (0..=turn % 2).map(|n| format!("{turn}-{n}")).collect();
            let call = |id: &String| ContentBlock::ToolUse {
                id: id.clone(),
                name: "Read".into(),
                input: json!({"file_path": format!("/{id}")}),
            };
            let result = |id: &String| ContentBlock::ToolResult {
                tool_use_id: id.clone(),
                content: "x".repeat(50 * (turn + 1)),
                is_error: false,
            };
            messages.push(Message::assistant(ids.iter().map(call).collect()));
            messages.push(Message::user(ids.iter().map(result).collect()));
        }
        let stored = messages.into_iter().map(StoredMessage::from);
        stored.map(Arc::new).collect()
    }

    #[test]
    fn no_size_limit_separates_a_call_from_its_result() {
        let whole = conversation();
        let all: u64 = whole.iter().map(|message| size(message)).sum();
        let mut lengths = Vec::new();
        for bytes in 0..all + 10 {
            let tail = tail(&whole, bytes);
            assert!(is_beginning(&tail[0]), "{bytes}");
            let ids = |of: fn(&StoredBlock) -> Option<&Arc<str>>| -> Vec<Arc<str>> {
                let blocks = tail.iter().flat_map(|message| &message.blocks);
                blocks.filter_map(of).cloned().collect()
            };
            assert_eq!(ids(StoredBlock::call_id), ids(StoredBlock::result_id));
            let kept: u64 = tail.iter().map(|message| size(message)).sum();
            if tail.len() > 2 {
                assert!(kept <= bytes, "{kept} in {bytes}");
            }
            lengths.push(tail.len());
        }
        lengths.dedup();
        assert_eq!(lengths, [2, 4, 6, 8, 10, 12, 13]);
        assert_eq!(files_read(&tail(&whole, 0)), ["/5-0", "/5-1"]);
    }
}
