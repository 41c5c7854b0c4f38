//! Rows with swarm's own escape sequences: their plain text, and parts of them.

use std::ops::Range;

use crate::console::alert::BELL;
use crate::print::wrapped;
use crate::sanitize::clean_text;
use crate::width::columns;

/// Start of a title sequence.
const TITLE: &str = "\u{1b}]";
/// End of a title sequence.
const TITLE_END: char = '\u{7}';

/// Start of the end of a link. Others start with an address.
const LINK: &str = "\u{1b}]8;;";
const LINK_END: &str = "\u{1b}]8;;\u{7}";

/// Ends all styles.
pub(super) const PLAIN: &str = "\u{1b}[0m";
/// Swaps foreground and background. It is not a colour, so that marks are visible without colours.
pub(super) const REVERSE: &str = "\u{1b}[7m";

/// Removes title sequences and bells from a text.
pub(super) fn without_titles(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, title)) = rest.split_once(TITLE) {
        kept.push_str(before);
        rest = title.split_once(TITLE_END).map_or("", |(_, rest)| rest);
    }
    kept.push_str(rest);
    kept.retain(|c| c != BELL);
    kept
}

/// Removes swarm's own sequences without width (colours and titles) from a text.
pub(super) fn plain_text(text: &str) -> String {
    pieces(text).filter(|(_, is_text)| *is_text).fold(
        String::with_capacity(text.len()),
        |mut plain, (piece, _)| {
            plain.extend(piece.chars().filter(|c| *c != BELL));
            plain
        },
    )
}

/// Returns the number of columns after the last line break once `output` is written at `column`.
pub(super) fn column_after(column: usize, output: &str) -> usize {
    let plain = plain_text(output);
    match plain.rsplit_once('\n') {
        Some((_, last)) => columns(last),
        None => column + columns(&plain),
    }
}

/// Truncates a row to `limit` columns. Its styles end at its end.
pub(super) fn cut(row: &str, limit: usize) -> String {
    broken(row, limit).into_iter().next().unwrap_or_default()
}

/// The style and the link in force at a position in a row.
#[derive(Debug, Default)]
struct InForce {
    style: String,
    link: String,
}

impl InForce {
    fn follow(&mut self, sequence: &str) {
        if sequence == PLAIN {
            self.style.clear();
        } else if sequence == LINK_END {
            self.link.clear();
        } else if sequence.starts_with(LINK) {
            sequence.clone_into(&mut self.link);
        } else {
            self.style.push_str(sequence);
        }
    }

    /// Ends a row, which continues in the next one.
    fn end(&self, mut row: String) -> String {
        if !self.style.is_empty() {
            row.push_str(PLAIN);
        }
        if !self.link.is_empty() {
            row.push_str(LINK_END);
        }
        row
    }

    fn begin(&self) -> String {
        format!("{}{}", self.link, self.style)
    }
}

/// Splits a row that is wider than `limit` columns into several rows with its styles.
pub(super) fn split(row: String, limit: usize) -> Vec<String> {
    // A character may be two columns wide.
    let limit = limit.max(2);
    if row.len() <= limit || columns(&plain_text(&row)) <= limit {
        return vec![row];
    }
    broken(&row, limit)
}

/// Breaks a row into rows of at most `limit` columns; the styles and links of each end at its end.
fn broken(row: &str, limit: usize) -> Vec<String> {
    let (mut rows, mut out, mut in_force) = (Vec::new(), String::new(), InForce::default());
    let mut taken = 0;
    for (piece, is_text) in pieces(row) {
        if !is_text {
            in_force.follow(piece);
            out.push_str(piece);
            continue;
        }
        for c in piece.chars() {
            let width = columns(c.encode_utf8(&mut [0; 4]));
            if taken + width > limit {
                rows.push(in_force.end(std::mem::take(&mut out)));
                out = in_force.begin();
                taken = 0;
            }
            taken += width;
            out.push(c);
        }
    }
    rows.push(in_force.end(out));
    rows
}

/// Marks ranges of a row's plain text by reverse video. The ranges are sorted and do not overlap.
pub(super) fn marked(row: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(row.len() + ranges.len() * 8);
    let mut ranges = ranges.iter().peekable();
    // Position in the plain text, and the style that follows a mark.
    let (mut at, mut in_force) = (0, InForce::default());
    let mut is_marked = false;
    for (piece, is_text) in pieces(row) {
        if !is_text {
            in_force.follow(piece);
            out.push_str(piece);
            if is_marked {
                out.push_str(REVERSE);
            }
            continue;
        }
        for c in piece.chars() {
            if is_marked && ranges.peek().is_none_or(|range| range.end <= at) {
                ranges.next();
                is_marked = false;
                out.push_str(PLAIN);
                out.push_str(&in_force.style);
            }
            if !is_marked && ranges.peek().is_some_and(|range| range.start <= at) {
                is_marked = true;
                out.push_str(REVERSE);
            }
            out.push(c);
            at += c.len_utf8();
        }
    }
    if is_marked {
        out.push_str(PLAIN);
    }
    out
}

/// Splits a text into sequences and the text between them; the flag is `true` for text.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (length, is_text) = match rest.find('\u{1b}') {
            Some(0) => (sequence_length(rest), false),
            Some(at) => (at, true),
            None => (rest.len(), true),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some((piece, is_text))
    })
}

/// Returns the length of the sequence at the start of a text.
fn sequence_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let end = match chars.next() {
        Some((_, '[')) => chars.find(|(_, c)| c.is_ascii_alphabetic()),
        Some((_, ']')) => chars.find(|(_, c)| *c == TITLE_END),
        other => other,
    };
    end.map_or(text.len(), |(at, c)| at + c.len_utf8())
}

/// Breaks a line into rows of `room` columns.
pub(super) fn in_rows(line: &str, room: usize) -> Vec<String> {
    let line = clean_text(line).replace(['\n', '\t'], " ");
    let rows = wrapped(&line, room).into_iter();
    rows.flat_map(|row| split(row, room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_row_keeps_its_styles_and_ends_them() {
        assert_eq!(cut("\u{1b}[1mab\u{1b}[0mcd", 3), "\u{1b}[1mab\u{1b}[0mc");
        assert_eq!(cut("\u{1b}[1mabcd", 3), "\u{1b}[1mabc\u{1b}[0m");
        assert_eq!(cut("日本", 3), "日");
        assert_eq!(cut("ab", 3), "ab");
    }

    #[test]
    fn a_wide_row_is_split_with_its_styles() {
        let row = "a\u{1b}[1mbc日\u{1b}[0m".to_owned();
        let rows = [
            "a\u{1b}[1mb\u{1b}[0m",
            "\u{1b}[1mc\u{1b}[0m",
            "\u{1b}[1m日\u{1b}[0m",
        ];
        assert_eq!(split(row, 2), rows);
        assert_eq!(split("abc".to_owned(), 3), ["abc"]);
    }

    #[test]
    fn a_link_continues_in_the_next_row_and_ends_with_each() {
        let link = "\u{1b}]8;;a://b\u{7}";
        let row = format!("a{link}\u{1b}[1mbcd\u{1b}[0m{LINK_END}e");
        let rows = [
            format!("a{link}\u{1b}[1mb\u{1b}[0m{LINK_END}"),
            format!("{link}\u{1b}[1mcd\u{1b}[0m{LINK_END}"),
            "e".to_owned(),
        ];
        assert_eq!(split(row, 2), rows);
        let marked = marked(
            &format!("{link}ab{LINK_END}c"),
            &[Range { start: 1, end: 2 }],
        );
        assert_eq!(
            marked,
            format!("{link}a\u{1b}[7mb{LINK_END}\u{1b}[7m\u{1b}[0mc")
        );
    }

    #[test]
    fn marks_cross_styles() {
        let range = |start, end| Range { start, end };
        assert_eq!(marked("abcd", &[range(1, 3)]), "a\u{1b}[7mbc\u{1b}[0md");
        assert_eq!(
            marked("a\u{1b}[1mb\u{1b}[0mc", &[range(0, 2)]),
            "\u{1b}[7ma\u{1b}[1m\u{1b}[7mb\u{1b}[0m\u{1b}[7m\u{1b}[0mc"
        );
        assert_eq!(
            marked("ab", &[0..1, 1..2]),
            "\u{1b}[7ma\u{1b}[0m\u{1b}[7mb\u{1b}[0m"
        );
        assert_eq!(marked("ab", &[]), "ab");
    }

    #[test]
    fn sequences_are_removed_from_the_plain_text() {
        assert_eq!(
            plain_text("\u{1b}]2;bob\u{7}a\u{1b}[1;31mb\u{1b}[0m\u{7}c"),
            "abc"
        );
        assert_eq!(plain_text("\u{1b}[1"), "");
        assert_eq!(column_after(3, "ab\u{1b}[1mc"), 6);
        assert_eq!(column_after(3, "ab\ncd"), 2);
    }
}
