//! Conversion of a call's result to a model's tool result: text and pictures.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use swarm_tools::Picture;

/// Maximum number of pictures passed on from one result.
const MAX_PICTURES: usize = 20;

/// Returns all blocks in order as text, and the pictures. Other content is replaced by its type and
/// size. Structured content is used only if there is no text block, because servers repeat it as
/// text for clients without support.
pub(super) fn content(result: &CallToolResult) -> (String, Vec<Picture>) {
    let mut pictures = Vec::new();
    let mut parts = Vec::new();
    for one in &result.content {
        match one {
            ContentBlock::Image(image) => {
                let size = size(Some(&*image.mime_type), &image.data);
                parts.push(match picture(&image.data, pictures.len()) {
                    Ok(picture) => {
                        pictures.push(picture);
                        format!("[image: {size}]")
                    }
                    Err(why) => format!("[image: {size}, not shown: {why}]"),
                });
            }
            one => parts.extend(block(one)),
        }
    }
    let has_text = result
        .content
        .iter()
        .any(|block| matches!(block, ContentBlock::Text(_)));
    if let Some(value) = result.structured_content.as_ref().filter(|_| !has_text) {
        parts.push(value.to_string());
    }
    (parts.join("\n"), pictures)
}

pub(super) fn picture(base64: &str, before: usize) -> Result<Picture, String> {
    if before >= MAX_PICTURES {
        return Err(format!(
            "a result may contain at most {MAX_PICTURES} pictures"
        ));
    }
    Picture::of_base64(base64)
}

pub(super) fn block(block: &ContentBlock) -> Option<String> {
    Some(match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Audio(audio) => not_shown("audio", &audio.mime_type, &audio.data),
        ContentBlock::ResourceLink(link) => {
            let about = link.title.as_ref().or(link.description.as_ref());
            let about = about.map_or_else(String::new, |about| format!(" ({about})"));
            format!("[resource {}: {}{about}]", link.name, link.uri)
        }
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {uri}]\n{text}")
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                format!("[resource {uri}: {}]", size(mime_type.as_deref(), blob))
            }
            _ => return None,
        },
        // A content type newer than this program.
        _ => return None,
    })
}

fn not_shown(what: &str, kind: &str, base64: &str) -> String {
    format!("[{what}: {}, not shown]", size(Some(kind), base64))
}

pub(super) fn size(kind: Option<&str>, base64: &str) -> String {
    let kind = kind.unwrap_or("unknown type");
    format!("{kind}, {} bytes", base64.len() / 4 * 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of one pixel.
    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn result(json: serde_json::Value) -> CallToolResult {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn every_kind_of_content_is_described_as_text() {
        let mixed = result(serde_json::json!({"content": [
            {"type": "text", "text": "first"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "what a is"},
            {"type": "resource", "resource": {"uri": "x://b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "x://c", "blob": "AAAA", "mimeType": "a/b"}}
        ]}));
        assert_eq!(
            content(&mixed).0,
            "first\n[image: image/png, 3 bytes, not shown: it is not a PNG, JPEG, GIF or WebP image]\n[audio: audio/wav, 6 bytes, not shown]\n\
             [resource a: file:///a (what a is)]\n[resource x://b]\ninside\n[resource x://c: a/b, 3 bytes]"
        );
    }

    #[test]
    fn pictures_are_passed_on_up_to_the_limit() {
        let image = serde_json::json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
        let (text, pictures) = content(&result(
            serde_json::json!({"content": vec![image; MAX_PICTURES + 1]}),
        ));
        assert_eq!(pictures.len(), MAX_PICTURES);
        assert_eq!(pictures[0].base64, PIXEL);
        assert!(
            text.ends_with("not shown: a result may contain at most 20 pictures]"),
            "{text}"
        );
    }

    #[test]
    fn structured_content_is_shown_once() {
        let twice = serde_json::json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}});
        assert_eq!(content(&result(twice)).0, "{\"a\":1}");
        let alone = serde_json::json!({"content": [], "structuredContent": {"a": 1}});
        assert_eq!(content(&result(alone)).0, "{\"a\":1}");
    }
}
