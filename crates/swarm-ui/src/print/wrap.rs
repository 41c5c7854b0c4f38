//! Wraps lines at spaces, where a terminal would break words.

use crate::width::columns;

/// Minimum width for wrapping; below it the terminal wraps lines.
const MIN_WIDTH: usize = 20;

/// Splits `line` into rows of at most `width` columns, all with its indentation. A command in
/// backticks is not split, so that it can be copied; anything wider than a line is left to the
/// terminal.
#[must_use]
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
    if columns(line) <= width || width < MIN_WIDTH + indent.len() {
        return vec![line.to_owned()];
    }
    filled(&pieces(&line[indent.len()..]), " ", indent, width)
}

/// Joins parts into rows of at most `width` columns, unless a part alone is wider.
pub(crate) fn filled(parts: &[&str], separator: &str, indent: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for part in parts {
        match rows.last_mut() {
            Some(row) if columns(row) + columns(separator) + columns(part) <= width => {
                row.push_str(separator);
                row.push_str(part);
            }
            _ => rows.push(format!("{indent}{part}")),
        }
    }
    rows
}

/// Returns the parts of a line that must not be split: words, and everything between two backticks.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut is_quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '`' => is_quoted = !is_quoted && line[at + 1..].contains('`'),
            ' ' if !is_quoted => {
                pieces.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&line[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_line_is_wrapped_at_spaces_and_keeps_its_indentation() {
        let line = "  its lead runs and needs no other; to replace it, end process 4711 first";
        assert_eq!(
            wrapped(line, 40),
            [
                "  its lead runs and needs no other; to",
                "  replace it, end process 4711 first"
            ]
        );
        assert_eq!(wrapped(line, 200), [line]);
    }

    #[test]
    fn a_command_in_backticks_is_not_split() {
        assert_eq!(
            wrapped("bring it back with `swarm spawn alice --team demo`", 40),
            ["bring it back with", "`swarm spawn alice --team demo`"]
        );
        // A single backtick does not quote anything.
        assert_eq!(
            wrapped("an odd ` stands in this line of words", 24),
            ["an odd ` stands in this", "line of words"]
        );
    }

    proptest! {
        #[test]
        fn only_spaces_are_changed(line in " {0,4}[a-z`é漢 ]{0,120}", width in 0usize..90) {
            let rows = wrapped(&line, width);
            let indent = line.len() - line.trim_start_matches(' ').len();
            prop_assert_eq!(rows.concat().replace(' ', ""), line.replace(' ', ""));
            for row in rows {
                let fits = columns(&row) <= width || !row.trim().contains(' ') || row.contains('`');
                prop_assert!(fits || width < MIN_WIDTH + indent, "{:?} at {}", row, width);
            }
        }
    }
}
