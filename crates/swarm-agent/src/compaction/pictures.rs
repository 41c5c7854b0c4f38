//! Limits images and documents in requests, and replaces the excess with placeholders.

use std::sync::Arc;

use serde_json::Value;
use swarm_model::{BlockKind, ContentBlock, StoredBlock, StoredMessage};

/// Limit for one request. The Messages API accepts 100 images and requests of 32 MB
/// (<https://docs.claude.com/en/docs/build-with-claude/vision>); the remaining bytes are for text.
const LIMIT: MediaSize = MediaSize {
    images: 100,
    bytes: 24_000_000,
};

/// Target after a sweep. Removing one old image for each new one would invalidate the prompt cache
/// every time.
const AFTER_SWEEP: MediaSize = MediaSize {
    images: 50,
    bytes: 12_000_000,
};

/// Markers in the JSON of a block. Inside texts the quotes are escaped, so they do not match.
const IMAGE: &str = r#""type":"image""#;
const DOCUMENT: &str = r#""type":"document""#;

const NO_IMAGE: &str =
    "[An image was here. It was removed to keep the request small; read the file again to see it.]";
const NO_DOCUMENT: &str = "[A document was here. It was removed to keep the request small; read the file again to see it.]";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct MediaSize {
    images: usize,
    bytes: usize,
}

impl MediaSize {
    fn of(block: &StoredBlock) -> Option<Self> {
        if !has_images(block) {
            return None;
        }
        let json = block.json();
        Some(Self {
            images: json.matches(IMAGE).count(),
            bytes: json.len(),
        })
    }

    fn exceeds(self, limit: Self) -> bool {
        self.images > limit.images || self.bytes > limit.bytes
    }
}

/// Returns whether a block contains images or documents.
pub(super) fn has_images(block: &StoredBlock) -> bool {
    if block.kind() != BlockKind::Other {
        return false;
    }
    let json = block.json();
    json.contains(IMAGE) || json.contains(DOCUMENT)
}

/// Returns a copy of the block with a placeholder text for each image and document.
pub(super) fn without_images(block: &StoredBlock) -> StoredBlock {
    let ContentBlock::Other(value) = block.block() else {
        return block.clone();
    };
    let block = match placeholder(&value) {
        Some(text) => ContentBlock::text(text),
        None => result_as_text(&value).unwrap_or(ContentBlock::Other(value)),
    };
    StoredBlock::from(&block)
}

/// Returns the placeholder for an image or document; `None` for anything else.
fn placeholder(value: &Value) -> Option<&'static str> {
    match value["type"].as_str()? {
        "image" => Some(NO_IMAGE),
        "document" => Some(NO_DOCUMENT),
        _ => None,
    }
}

fn result_as_text(value: &Value) -> Option<ContentBlock> {
    let tool_use_id = value["tool_use_id"].as_str()?.to_owned();
    let parts = value["content"].as_array()?;
    let text = |part: &Value| match placeholder(part) {
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

/// Returns the messages of a request with the oldest images and documents removed if there are too
/// many. The result depends on the messages alone, so that a longer conversation, and that of a
/// fork, begins with the same bytes.
pub(crate) fn within_limits(messages: Vec<Arc<StoredMessage>>) -> Vec<Arc<StoredMessage>> {
    limited(messages, LIMIT, AFTER_SWEEP)
}

fn limited(
    messages: Vec<Arc<StoredMessage>>,
    most: MediaSize,
    left: MediaSize,
) -> Vec<Arc<StoredMessage>> {
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let blocks = message.blocks.iter().enumerate();
        let blocks = blocks.filter_map(|(index, block)| Some((at, index, MediaSize::of(block)?)));
        found.extend(blocks);
    }
    let removed = removed_by_sweeps(found.iter().map(|(_, _, size)| *size), most, left);
    let mut messages = messages;
    for (at, index, _) in &found[..removed] {
        let message = Arc::make_mut(&mut messages[*at]);
        message.blocks[*index] = without_images(&message.blocks[*index]);
    }
    messages
}

/// Returns how many of the oldest blocks are removed if a sweep runs whenever the limit is
/// exceeded.
fn removed_by_sweeps(
    sizes: impl Iterator<Item = MediaSize>,
    most: MediaSize,
    left: MediaSize,
) -> usize {
    let sizes: Vec<MediaSize> = sizes.collect();
    let (mut removed, mut kept) = (0, MediaSize::default());
    for (at, size) in sizes.iter().enumerate() {
        kept.images += size.images;
        kept.bytes += size.bytes;
        if !kept.exceeds(most) {
            continue;
        }
        // The newest one is kept, whatever its size.
        while kept.exceeds(left) && removed < at {
            kept.images -= sizes[removed].images;
            kept.bytes -= sizes[removed].bytes;
            removed += 1;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_model::Message;

    use super::*;

    fn image_message(id: usize) -> Arc<StoredMessage> {
        let image = json!({"type": "image", "source": {"data": "x".repeat(100)}});
        let text = json!({"type": "text", "text": format!("image_message {id}")});
        let result =
            json!({"type": "tool_result", "tool_use_id": id.to_string(), "content": [text, image]});
        Arc::new(StoredMessage::from(Message::user(vec![
            ContentBlock::Other(result),
        ])))
    }

    fn images(messages: &[Arc<StoredMessage>]) -> Vec<bool> {
        messages
            .iter()
            .map(|message| has_images(&message.blocks[0]))
            .collect()
    }

    #[test]
    fn the_newest_images_are_kept_and_old_ones_are_removed_in_sweeps() {
        let limit = |images| MediaSize {
            images,
            bytes: usize::MAX,
        };
        let sent = |count: usize| {
            let messages = (0..count).map(image_message).collect();
            limited(messages, limit(4), limit(2))
        };
        let mut changes = 0;
        let mut before = sent(1);
        for count in 2..20 {
            let now = sent(count);
            let kept = images(&now);
            assert!(kept.iter().filter(|kept| **kept).count() <= 4, "{count}");
            assert!(kept[count - 1] && kept[count - 2], "{count}");
            changes += usize::from(!now.starts_with(&before));
            before = now;
        }
        assert_eq!(changes, 5, "the prefix changes once in three images");
        let block = &before[0].blocks[0];
        assert_eq!(&**block.result_id().unwrap(), "0");
        assert_eq!(block.kind(), BlockKind::ToolResult);
        assert!(block.json().contains("image_message 0") && block.json().contains("removed"));
    }

    #[test]
    fn the_bytes_of_images_are_limited() {
        let limit = |bytes| MediaSize {
            images: usize::MAX,
            bytes,
        };
        let messages: Vec<_> = (0..10).map(image_message).collect();
        let size = messages[0].blocks[0].json().len();
        let kept = |most, left| images(&limited(messages.clone(), limit(most), limit(left)));
        let count = |kept: Vec<bool>| kept.iter().filter(|kept| **kept).count();
        assert_eq!(count(kept(10 * size, size)), 10);
        assert_eq!(count(kept(9 * size, 5 * size)), 5);
        assert_eq!(kept(1, 1)[8..], [false, true], "the newest one is kept");
    }
}
