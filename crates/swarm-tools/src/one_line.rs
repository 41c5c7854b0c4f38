//! Formatting of texts for one line of a pane.

use swarm_protocol::shortened;

/// Maximum length in characters.
const MAX_CHARS: usize = 100;
/// Maximum length of a path in characters. Panes show it relative to the working directory, which they
/// find only in a whole path.
const MAX_PATH_CHARS: usize = 300;

/// Formats a text on one line, without control or bidirectional characters, truncated at the end.
pub fn one_line(text: &str) -> String {
    shortened(&flat(text), MAX_CHARS)
}

/// Formats the name of a tool and a path, truncated at the start of the path.
pub(crate) fn with_path(tool: &str, path: &str) -> String {
    let path: String = flat(path).chars().rev().collect();
    let path = shortened(&path, MAX_PATH_CHARS);
    format!("{tool} {}", path.chars().rev().collect::<String>())
}

/// Formats a count with a noun, such as `1 line` or `2 lines`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

fn flat(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|c| !is_invisible_or_directional(*c))
        .map(space_for_control)
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn space_for_control(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// Whether a character is invisible or changes the display order of others.
fn is_invisible_or_directional(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

pub(crate) fn line_ends(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_one_line_of_printable_characters() {
        assert_eq!(one_line("a\u{1b}[2J\n\tb\u{202e}c\r"), "a [2J bc");
        assert_eq!(one_line(&"ä".repeat(200)).chars().count(), MAX_CHARS + 1);
        assert!(with_path("Read", &"x/".repeat(200)).starts_with("Read …"));
        assert!(with_path("Read", &format!("{}end", "x/".repeat(200))).ends_with("end"));
        assert_eq!(
            (counted(1, "line"), counted(0, "line")),
            ("1 line".into(), "0 lines".into())
        );
    }
}
