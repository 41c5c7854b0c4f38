//! The text of a prompt.

use serde_json::Value;

/// Returns the text of a prompt's content blocks. Files that the person mentions are named; those
/// that the client embeds are included.
pub(super) fn prompt_text(blocks: &Value) -> Result<String, String> {
    let blocks = blocks.as_array().ok_or("`prompt` must be a list")?;
    let mut text = String::new();
    let mut embedded = Vec::new();
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "text" => text.push_str(block["text"].as_str().unwrap_or_default()),
            "resource_link" => text.push_str(&place(&block["uri"])),
            "resource" => {
                let resource = &block["resource"];
                let place = place(&resource["uri"]);
                let content = resource["text"].as_str();
                let content = content.ok_or(format!("{place} is not a text"))?;
                text.push_str(&place);
                embedded.push(format!("<context ref=\"{place}\">\n{content}\n</context>"));
            }
            kind => return Err(format!("content of type `{kind}` is not supported")),
        }
    }
    if text.trim().is_empty() && embedded.is_empty() {
        return Err("the prompt is empty".to_owned());
    }
    for one in embedded {
        text.push_str("\n\n");
        text.push_str(&one);
    }
    Ok(text)
}

/// Returns the path of a file, or another address unchanged.
fn place(uri: &Value) -> String {
    let uri = uri.as_str().unwrap_or_default();
    uri.strip_prefix("file://").unwrap_or(uri).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mentioned_files_are_named_and_embedded_ones_included() {
        let blocks = json!([
            {"type": "text", "text": "Explain "},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///work/a.rs"},
            {"type": "text", "text": " with "},
            {"type": "resource", "resource": {"uri": "file:///work/b.rs#L1", "text": "fn b() {}"}},
        ]);
        assert_eq!(
            prompt_text(&blocks).unwrap(),
            "Explain /work/a.rs with /work/b.rs#L1\n\n<context ref=\"/work/b.rs#L1\">\nfn b() {}\n</context>"
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (blocks, why) in [
            (json!("text"), "`prompt` must be a list"),
            (json!([]), "the prompt is empty"),
            (
                json!([{"type": "image", "data": ""}]),
                "content of type `image` is not supported",
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "a", "blob": ""}}]),
                "a is not a text",
            ),
        ] {
            assert_eq!(prompt_text(&blocks).unwrap_err(), why);
        }
    }
}
