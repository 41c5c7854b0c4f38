//! Text that arrives in pieces: indented, broken between words, with at most one empty line in a row.

use std::fmt::Write as _;

use crate::width::{breaks_after, columns};

/// Narrower than this, breaking between words leaves less than the terminal's own breaking does.
const NARROWEST: usize = 16;

/// Columns between tab stops.
const TAB: usize = 8;

/// A whole block of clean text, each of its lines ended.
pub(super) fn broken(indent: usize, width: Option<usize>, text: &str) -> String {
    let mut flow = TextWrap::new(indent, width);
    flow.push(text) + &flow.end()
}

/// Lays out one block of text. What it hands out is to be written at once and in order.
#[derive(Debug)]
pub(super) struct TextWrap {
    indent: usize,
    width: Option<usize>,
    /// Columns that the line has so far, indentation included; zero before its first word.
    column: usize,
    /// Line ends that the next word has before it.
    line_ends: usize,
    /// Spaces that the next word has before it, unless it begins a line that was broken.
    spaces: usize,
    /// A word whose end has not arrived.
    word: String,
    /// Where parts of the word begin that are drawn in another style, and the parameters of that.
    styles: Vec<(usize, String)>,
    /// The style of what arrives.
    style: String,
    /// Columns before the continuation of a line, beside the indentation.
    hang: usize,
    /// Whether anything was handed out.
    begun: bool,
}

impl TextWrap {
    /// A block whose lines begin after `indent` columns and end before `width`.
    pub(super) fn new(indent: usize, width: Option<usize>) -> Self {
        Self {
            indent,
            width: usable(width),
            column: 0,
            line_ends: 0,
            spaces: 0,
            word: String::new(),
            styles: Vec::new(),
            style: String::new(),
            hang: 0,
            begun: false,
        }
    }

    /// Lines end before `width` from the next word on.
    pub(super) fn resize(&mut self, width: Option<usize>) {
        self.width = usable(width);
    }

    /// The continuation of the line has so many more columns before it.
    pub(super) fn hang(&mut self, columns: usize) {
        self.hang = columns.min(self.width.unwrap_or(usize::MAX) / 2);
    }

    /// Columns of a line of text.
    pub(super) fn room(&self) -> usize {
        self.width
            .map_or(usize::MAX, |width| width.saturating_sub(self.indent))
    }

    /// Takes a piece that is drawn in a style: the parameters of an SGR sequence.
    pub(super) fn push_styled(&mut self, piece: &str, style: &str) -> String {
        style.clone_into(&mut self.style);
        let out = self.push(piece);
        self.style.clear();
        out
    }

    /// Takes the next piece of clean text and hands out what is settled.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            match c {
                '\n' => {
                    self.place_word(&mut out);
                    self.line_ends += usize::from(self.begun);
                    self.spaces = 0;
                }
                '\t' => {
                    self.place_word(&mut out);
                    self.spaces += TAB - (self.text_column() + self.spaces) % TAB;
                }
                c if c.is_whitespace() => {
                    self.place_word(&mut out);
                    self.spaces += 1;
                }
                c => self.push_to_word(c, &mut out),
            }
        }
        if self.width.is_none() {
            self.place_word(&mut out);
        }
        out
    }

    /// Ends the block: hands out the last word, and the end of the line if one is open.
    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        self.place_word(&mut out);
        if self.column > 0 {
            out.push('\n');
        }
        *self = Self::new(self.indent, self.width);
        out
    }

    /// Columns of text on the line.
    fn text_column(&self) -> usize {
        if self.line_ends > 0 {
            0
        } else {
            self.column.saturating_sub(self.indent)
        }
    }

    fn push_to_word(&mut self, c: char, out: &mut String) {
        if let Some(width) = self.width {
            // Some characters change the width of the one before them, so only the whole can be measured.
            let length = self.word.len();
            let room = width.saturating_sub(self.indent + self.hang);
            self.word.push(c);
            let is_too_long = columns(&self.word) > room;
            self.word.truncate(length);
            if is_too_long {
                self.place_word(out);
            }
        }
        let style = self.styles.last().map_or("", |(_, style)| style);
        if style != self.style {
            self.styles.push((self.word.len(), self.style.clone()));
        }
        self.word.push(c);
        if breaks_after(c) {
            self.place_word(out);
        }
    }

    fn place_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let styles = std::mem::take(&mut self.styles);
        if self.line_ends > 0 {
            out.push('\n');
            if self.line_ends > 1 {
                out.push('\n');
            }
            self.column = 0;
        }
        self.line_ends = 0;
        self.make_room(columns(&word), out);
        push_in_styles(&word, &styles, out);
        self.column += columns(&word);
        self.begun = true;
    }

    /// Writes what stands between the last word and one of `word` columns: spaces, or a line end and indentation.
    fn make_room(&mut self, word: usize, out: &mut String) {
        let fresh = self.column == 0;
        let start = if fresh { self.indent } else { self.column };
        let fits = self
            .width
            .is_none_or(|width| start + self.spaces + word <= width);
        let gap = match (fresh, fits) {
            (true, true) => self.indent + self.spaces,
            (true, false) => self.indent,
            (false, true) => self.spaces,
            (false, false) => {
                out.push('\n');
                self.column = 0;
                self.indent + self.hang
            }
        };
        out.extend(std::iter::repeat_n(' ', gap));
        self.column += gap;
        self.spaces = 0;
    }
}

/// Each part in a style is complete in itself: other output may come between any two words.
fn push_in_styles(word: &str, styles: &[(usize, String)], out: &mut String) {
    let first = styles.first().map_or(word.len(), |(start, _)| *start);
    out.push_str(&word[..first]);
    for (at, (start, style)) in styles.iter().enumerate() {
        let end = styles.get(at + 1).map_or(word.len(), |(start, _)| *start);
        let part = &word[*start..end];
        if style.is_empty() {
            out.push_str(part);
        } else {
            // Writing into a String cannot fail.
            let _infallible = write!(out, "\u{1b}[{style}m{part}\u{1b}[0m");
        }
    }
}

/// A text without the sequences that [`TextWrap::push_styled`] adds.
#[cfg(test)]
pub(super) fn without_styles(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest));
    first + &rest.collect::<String>()
}

fn usable(width: Option<usize>) -> Option<usize> {
    width.filter(|width| *width >= NARROWEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn laid_out(pieces: &[&str], width: Option<usize>) -> String {
        let mut flow = TextWrap::new(2, width);
        let mut out: String = pieces.iter().map(|piece| flow.push(piece)).collect();
        out += &flow.end();
        out
    }

    #[test]
    fn lines_break_between_words_and_stay_indented() {
        assert_eq!(
            laid_out(&["one two th", "ree four ", "five"], Some(16)),
            "  one two three\n  four five\n"
        );
        assert_eq!(
            laid_out(&["abcdefghijklmnopqrst"], Some(16)),
            "  abcdefghijklmn\n  opqrst\n"
        );
        assert_eq!(
            laid_out(&["日本語日本語日本語"], Some(16)),
            "  日本語日本語日\n  本語\n"
        );
    }

    #[test]
    fn the_shape_of_code_is_kept() {
        assert_eq!(
            laid_out(&["a:\n    b\n\tc  d"], None),
            "  a:\n      b\n          c  d\n"
        );
    }

    #[test]
    fn empty_lines_at_the_ends_are_dropped_and_others_are_single() {
        assert_eq!(
            laid_out(&["\n\n a \n", "\n\n\nb\n\n"], None),
            "   a\n\n  b\n"
        );
        assert_eq!(laid_out(&["", " \n"], Some(40)), "");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_no_line_too_long(
            text in "([a-z]{1,9}[ \n]{0,2}|日本){0,30}", width in 16_usize..40,
            cut in any::<prop::sample::Index>(),
        ) {
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let (one, two) = text.split_at(cuts[cut.index(cuts.len())]);
            let out = laid_out(&[one, two], Some(width));
            let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(dense(&out), dense(&text));
            prop_assert_eq!(&out, &laid_out(&[&text], Some(width)));
            for line in out.lines() {
                prop_assert!(columns(line) <= width && line == line.trim_end());
            }
        }
    }
}
