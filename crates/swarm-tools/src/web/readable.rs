//! Conversion of responses to text for the model.

use htmd::HtmlToMarkdown;
use swarm_protocol::WebAnswer;

/// HTML elements without readable text.
const SKIPPED: [&str; 7] = [
    "script", "style", "noscript", "svg", "iframe", "template", "head",
];

/// Converts a response to text: HTML to Markdown, other text unchanged. The error is a message for
/// the model.
pub(super) fn readable(answer: &WebAnswer) -> Result<String, String> {
    let kind = answer.content_type.to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let text = || String::from_utf8_lossy(&answer.body).into_owned();
    match kind {
        "text/html" | "application/xhtml+xml" => {
            let converter = HtmlToMarkdown::builder()
                .skip_tags(SKIPPED.to_vec())
                .build();
            converter
                .convert(&text())
                .map_err(|error| format!("cannot parse the page as HTML: {error}"))
        }
        "" if std::str::from_utf8(&answer.body).is_ok() => Ok(text()),
        kind if is_text(kind) => Ok(text()),
        kind => Err(format!(
            "the content is not text but `{}`, {} bytes",
            kind.escape_debug(),
            answer.body.len()
        )),
    }
}

fn is_text(kind: &str) -> bool {
    let endings = ["json", "xml", "javascript", "yaml", "toml", "x-sh"];
    kind.starts_with("text/") || endings.iter().any(|ending| kind.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: &str, body: &[u8]) -> WebAnswer {
        WebAnswer {
            status: 200,
            content_type: kind.to_owned(),
            body: body.to_vec(),
            ..WebAnswer::default()
        }
    }

    #[test]
    fn a_page_is_converted_to_text_without_scripts() {
        let page = "<html><head><title>t</title><script>evil()</script></head><body><h1>Head</h1><p>One <b>two</b> <a href='/x'>three</a></p><script>more()</script></body></html>";
        let text = readable(&answer("text/html; charset=utf-8", page.as_bytes())).unwrap();
        assert!(
            text.contains("# Head") && text.contains("**two**"),
            "{text}"
        );
        assert!(!text.contains("evil") && !text.contains("more()"), "{text}");
    }

    #[test]
    fn content_that_is_not_text_is_reported() {
        assert_eq!(
            readable(&answer("application/json", b"{}")).as_deref(),
            Ok("{}")
        );
        let why = readable(&answer("image/png", b"\x89PNG")).unwrap_err();
        assert!(why.contains("image/png"), "{why}");
    }
}
