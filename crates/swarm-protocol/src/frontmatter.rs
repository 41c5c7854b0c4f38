//! The frontmatter of a Markdown file.

/// Returns the frontmatter and the text after it of a file that begins with fields between two lines
/// of dashes. Line endings are `\n`; the first line of the fields is line 2 of the file.
pub fn split_frontmatter(text: &str) -> Option<(String, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let (dashes, rest) = text.split_once('\n')?;
    if dashes.trim_end() != "---" {
        return None;
    }
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
    }
}
