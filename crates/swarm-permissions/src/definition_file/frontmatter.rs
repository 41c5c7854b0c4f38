//! The YAML frontmatter of a Markdown file.

/// Lines of the file before the YAML.
pub(super) const LINES_BEFORE: usize = 1;

/// Returns the YAML and the text after it of a file that begins with YAML between two lines of
/// dashes. Line endings are `\n`; the first line of the YAML is line 2 of the file.
pub(crate) fn split_frontmatter(text: &str) -> Option<(String, String)> {
    let rest = below_dashes(text)?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = &rest[at + line.len()..];
            return Some((rest[..at].to_owned(), body.trim().to_owned()));
        }
        at += line.len();
    }
    None
}

/// Returns the lines after an opening line of dashes without a closing one; otherwise `None`. Such
/// a text may be plain Markdown that begins with a horizontal rule.
pub(super) fn unclosed(text: &str) -> Option<String> {
    below_dashes(text).filter(|_| split_frontmatter(text).is_none())
}

/// Returns the lines after an opening line of dashes.
fn below_dashes(text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let (dashes, rest) = text.split_once('\n')?;
    (dashes.trim_end() == "---").then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_every_editor_are_split() {
        for text in [
            "---\nname: a\n---\n\nBody.\n",
            "\u{feff}---\r\nname: a\r\n---\r\nBody.",
            "--- \nname: a\n--- \nBody.",
        ] {
            let (yaml, body) = split_frontmatter(text).unwrap();
            assert_eq!((yaml.as_str(), body.as_str()), ("name: a\n", "Body."));
        }
        for text in ["# Notes\n---\n", "---\nname: a\n", "", "----\na: b\n---\n"] {
            assert_eq!(split_frontmatter(text), None, "{text}");
        }
        assert_eq!(
            unclosed("---\r\nname: a\n\nBody."),
            Some("name: a\n\nBody.".to_owned())
        );
        for text in ["# Notes\n---\n", "---\nname: a\n---\n", "", "----\na: b\n"] {
            assert_eq!(unclosed(text), None, "{text}");
        }
    }
}
