//! Texts fit for one line of a pane.

/// The longest such text, in characters.
const LONGEST: usize = 100;

/// A text on one line, without control or direction characters, cut at its end when too long.
pub fn one_line(text: &str) -> String {
    shorten(&flat(text), |kept| format!("{kept}…"))
}

/// The name of a tool and a path, cut at the path's beginning when too long.
pub(crate) fn with_path(tool: &str, path: &str) -> String {
    let path: String = flat(path).chars().rev().collect();
    let path = shorten(&path, |kept| format!("{kept}…"));
    format!("{tool} {}", path.chars().rev().collect::<String>())
}

/// `1 line`, `2 lines`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

fn shorten(text: &str, mark: impl Fn(&str) -> String) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => mark(&text[..at]),
    }
}

fn flat(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|c| !turns_direction(*c))
        .map(blank_for_control)
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn blank_for_control(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// Characters that change the order in which others are shown, or are not seen at all.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_one_line_of_plain_text_is_left() {
        assert_eq!(one_line("a\u{1b}[2J\n\tb\u{202e}c\r"), "a [2J bc");
        assert_eq!(one_line(&"ä".repeat(200)).chars().count(), LONGEST + 1);
        assert!(with_path("Read", &"x/".repeat(200)).starts_with("Read …"));
        assert!(with_path("Read", &format!("{}end", "x/".repeat(200))).ends_with("end"));
        assert_eq!(
            (counted(1, "line"), counted(0, "line")),
            ("1 line".into(), "0 lines".into())
        );
    }
}
