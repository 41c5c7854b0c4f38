//! The YAML frontmatter of a Markdown file.

/// A file split into its two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frontmatter {
    /// The YAML with `\n` line endings. Its first line is line 2 of the file.
    pub(super) yaml: String,
    /// The text after the frontmatter.
    pub(super) body: String,
}

/// Lines of the file before the YAML.
pub(super) const LINES_BEFORE: usize = 1;

/// Splits a file; `None` if it does not begin with YAML between two lines of dashes.
pub(super) fn split(text: &str) -> Option<Frontmatter> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let rest = text.strip_prefix("---")?;
    let (dashes, rest) = rest.split_once('\n')?;
    if !dashes.trim().is_empty() {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = &rest[at + line.len()..];
            return Some(Frontmatter {
                yaml: rest[..at].to_owned(),
                body: body.trim().to_owned(),
            });
        }
        at += line.len();
    }
    None
}

/// Returns the YAML and the text of a file that begins with YAML between two lines of dashes.
pub(crate) fn split_frontmatter(text: &str) -> Option<(String, String)> {
    split(text).map(|parts| (parts.yaml, parts.body))
}

/// Returns the lines after an opening line of dashes without a closing one; otherwise `None`. Such
/// a text may be plain Markdown that begins with a horizontal rule.
pub(super) fn unclosed(text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let (dashes, rest) = text.split_once('\n')?;
    let is_open = dashes.trim_end() == "---" && split(&text).is_none();
    is_open.then(|| rest.to_owned())
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
            let parts = split(text).unwrap();
            assert_eq!(
                (parts.yaml.as_str(), parts.body.as_str()),
                ("name: a\n", "Body.")
            );
        }
        for text in ["# Notes\n---\n", "---\nname: a\n", "", "----\na: b\n---\n"] {
            assert_eq!(split(text), None, "{text}");
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
