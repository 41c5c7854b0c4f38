//! Pictures and documents in requests: how many a request may have, and what stands in place of the others.

use std::sync::Arc;

use serde_json::Value;
use swarm_model::{BlockKind, ContentBlock, StoredBlock, StoredMessage};

/// Pictures and documents of one request. The Messages API takes 100 images and requests of 32 MB
/// (<https://docs.claude.com/en/docs/build-with-claude/vision>); the rest of the bytes is for text.
const MOST: Load = Load {
    pictures: 100,
    bytes: 24_000_000,
};

/// What is left after the oldest ones were removed. Removing one with each new one would lose the prompt cache every time.
const AFTER_SWEEP: Load = Load {
    pictures: 50,
    bytes: 12_000_000,
};

/// As the JSON of a block has them. In texts the quotes are escaped.
const IMAGE: &str = r#""type":"image""#;
const DOCUMENT: &str = r#""type":"document""#;

const NO_IMAGE: &str =
    "[An image was here. It was removed to keep the request small; read the file again to see it.]";
const NO_DOCUMENT: &str = "[A document was here. It was removed to keep the request small; read the file again to see it.]";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Load {
    pictures: usize,
    bytes: usize,
}

impl Load {
    fn of(block: &StoredBlock) -> Option<Self> {
        if !has_pictures(block) {
            return None;
        }
        let json = block.json();
        Some(Self {
            pictures: json.matches(IMAGE).count(),
            bytes: json.len(),
        })
    }

    fn exceeds(self, limit: Self) -> bool {
        self.pictures > limit.pictures || self.bytes > limit.bytes
    }
}

/// Whether a block has pictures or documents in it.
pub(super) fn has_pictures(block: &StoredBlock) -> bool {
    let json = block.json();
    block.kind() == BlockKind::Other && (json.contains(IMAGE) || json.contains(DOCUMENT))
}

/// The same block with a text in place of each picture and document.
pub(super) fn without_pictures(block: &StoredBlock) -> StoredBlock {
    let ContentBlock::Other(value) = block.block() else {
        return block.clone();
    };
    let block = match removed(&value) {
        Some(text) => ContentBlock::text(text),
        None => result_as_text(&value).unwrap_or(ContentBlock::Other(value)),
    };
    StoredBlock::from(&block)
}

/// The text in place of a picture or document; `None` for anything else.
fn removed(value: &Value) -> Option<&'static str> {
    match value["type"].as_str()? {
        "image" => Some(NO_IMAGE),
        "document" => Some(NO_DOCUMENT),
        _ => None,
    }
}

fn result_as_text(value: &Value) -> Option<ContentBlock> {
    let tool_use_id = value["tool_use_id"].as_str()?.to_owned();
    let parts = value["content"].as_array()?;
    let text = |part: &Value| match removed(part) {
        Some(text) => text.to_owned(),
        None => part["text"]
            .as_str()
            .map_or_else(|| part.to_string(), str::to_owned),
    };
    let parts: Vec<String> = parts.iter().map(text).collect();
    Some(ContentBlock::ToolResult {
        tool_use_id,
        content: parts.join("\n\n"),
        is_error: value["is_error"] == true,
    })
}

/// The messages of a request, without the oldest pictures and documents where there are too many. What is removed
/// depends on the messages alone, so that a longer conversation, and that of a fork, begin with the same bytes.
pub(crate) fn within_limits(messages: Vec<Arc<StoredMessage>>) -> Vec<Arc<StoredMessage>> {
    within(messages, MOST, AFTER_SWEEP)
}

fn within(messages: Vec<Arc<StoredMessage>>, most: Load, left: Load) -> Vec<Arc<StoredMessage>> {
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let blocks = message.blocks.iter().enumerate();
        let blocks = blocks.filter_map(|(index, block)| Some((at, index, Load::of(block)?)));
        found.extend(blocks);
    }
    let removed = swept(found.iter().map(|(_, _, load)| *load), most, left);
    let mut messages = messages;
    for (at, index, _) in &found[..removed] {
        let message = Arc::make_mut(&mut messages[*at]);
        message.blocks[*index] = without_pictures(&message.blocks[*index]);
    }
    messages
}

/// How many of the oldest are removed, if each sweep happens as soon as there are too many.
fn swept(loads: impl Iterator<Item = Load>, most: Load, left: Load) -> usize {
    let loads: Vec<Load> = loads.collect();
    let (mut removed, mut kept) = (0, Load::default());
    for (at, load) in loads.iter().enumerate() {
        kept.pictures += load.pictures;
        kept.bytes += load.bytes;
        if !kept.exceeds(most) {
            continue;
        }
        // The newest one stays, whatever its size.
        while kept.exceeds(left) && removed < at {
            kept.pictures -= loads[removed].pictures;
            kept.bytes -= loads[removed].bytes;
            removed += 1;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_model::{Message, Role};

    use super::*;

    fn picture(id: usize) -> Arc<StoredMessage> {
        let image = json!({"type": "image", "source": {"data": "x".repeat(100)}});
        let text = json!({"type": "text", "text": format!("picture {id}")});
        let result =
            json!({"type": "tool_result", "tool_use_id": id.to_string(), "content": [text, image]});
        Arc::new(StoredMessage::from(Message {
            role: Role::User,
            content: vec![ContentBlock::Other(result)],
        }))
    }

    fn pictures(messages: &[Arc<StoredMessage>]) -> Vec<bool> {
        messages
            .iter()
            .map(|message| has_pictures(&message.blocks[0]))
            .collect()
    }

    #[test]
    fn the_newest_pictures_stay_and_old_ones_are_removed_in_sweeps() {
        let limit = |pictures| Load {
            pictures,
            bytes: usize::MAX,
        };
        let sent = |count: usize| {
            let messages = (0..count).map(picture).collect();
            within(messages, limit(4), limit(2))
        };
        let mut changes = 0;
        let mut before = sent(1);
        for count in 2..20 {
            let now = sent(count);
            let kept = pictures(&now);
            assert!(kept.iter().filter(|kept| **kept).count() <= 4, "{count}");
            assert!(kept[count - 1] && kept[count - 2], "{count}");
            changes += usize::from(!now.starts_with(&before));
            before = now;
        }
        assert_eq!(changes, 5, "the prefix changes once in three pictures");
        let block = &before[0].blocks[0];
        assert_eq!(&**block.result_id().unwrap(), "0");
        assert_eq!(block.kind(), BlockKind::ToolResult);
        assert!(block.json().contains("picture 0") && block.json().contains("removed"));
    }

    #[test]
    fn the_bytes_of_pictures_are_limited_too() {
        let limit = |bytes| Load {
            pictures: usize::MAX,
            bytes,
        };
        let messages: Vec<_> = (0..10).map(picture).collect();
        let size = messages[0].blocks[0].json().len();
        let kept = |most, left| pictures(&within(messages.clone(), limit(most), limit(left)));
        let count = |kept: Vec<bool>| kept.iter().filter(|kept| **kept).count();
        assert_eq!(count(kept(10 * size, size)), 10);
        assert_eq!(count(kept(9 * size, 5 * size)), 5);
        assert_eq!(kept(1, 1)[8..], [false, true], "the newest one stays");
    }
}
