//! Wraps lines at spaces, where a terminal would break words.

use crate::width::columns;

/// Minimum width for wrapping; below it the terminal wraps lines.
const MIN_WIDTH: usize = 20;

/// Splits `line` into pieces of at most `width` columns, all with its indentation. A command in
/// backticks is not split, so that it can be copied; anything wider than a line is left to the
/// terminal.
#[must_use]
pub fn wrapped(line: &str, width: usize) -> String {
    let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
    if columns(line) <= width || width < MIN_WIDTH + indent.len() {
        return line.to_owned();
    }
    let mut text = indent.to_owned();
    let mut used = indent.len();
    let mut is_first = true;
    for piece in pieces(&line[indent.len()..]) {
        let wide = columns(piece);
        if is_first {
            is_first = false;
        } else if used + 1 + wide <= width {
            text.push(' ');
            used += 1;
        } else {
            text.push('\n');
            text.push_str(indent);
            used = indent.len();
        }
        text.push_str(piece);
        used += wide;
    }
    text
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
            "  its lead runs and needs no other; to\n  replace it, end process 4711 first"
        );
        assert_eq!(wrapped(line, 200), line);
    }

    #[test]
    fn a_command_in_backticks_is_not_split() {
        assert_eq!(
            wrapped("bring it back with `swarm spawn alice --team demo`", 40),
            "bring it back with\n`swarm spawn alice --team demo`"
        );
        // A single backtick does not quote anything.
        assert_eq!(
            wrapped("an odd ` stands in this line of words", 24),
            "an odd ` stands in this\nline of words"
        );
    }

    proptest! {
        #[test]
        fn only_spaces_are_changed(line in " {0,4}[a-z`é漢 ]{0,120}", width in 0usize..90) {
            let broken = wrapped(&line, width);
            let indent = line.len() - line.trim_start_matches(' ').len();
            prop_assert_eq!(broken.replace([' ', '\n'], ""), line.replace(' ', ""));
            for piece in broken.lines() {
                let fits = columns(piece) <= width || !piece.trim().contains(' ') || piece.contains('`');
                prop_assert!(fits || width < MIN_WIDTH + indent, "{:?} at {}", piece, width);
            }
        }
    }
}
