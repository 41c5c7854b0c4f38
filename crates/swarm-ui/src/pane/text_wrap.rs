//! Wraps text that arrives in pieces: indented, wrapped at words, with at most one empty line in a
//! row.

use std::fmt::Write as _;
use std::ops::Range;

use super::links::{END, Links};
use crate::width::{breaks_after, columns};

/// Minimum width for wrapping at words; below it the terminal wraps lines.
const MIN_WIDTH: usize = 16;

/// Columns between tab stops.
const TAB: usize = 8;

/// Longest URL in bytes that stays one link in several lines.
const LONGEST_URL: usize = 2048;

/// Wraps a complete block of sanitized text; each of its lines is terminated.
pub(super) fn broken(indent: usize, width: Option<usize>, text: &str) -> String {
    let mut flow = TextWrap::new(indent, width);
    flow.push(text);
    flow.end()
}

/// Wraps a block of text. Its output must be taken and written before any other.
#[derive(Debug, Default)]
pub(super) struct TextWrap {
    indent: usize,
    width: Option<usize>,
    /// Width of the current line, including indentation; zero before its first word.
    column: usize,
    /// Number of line breaks before the next word.
    line_ends: usize,
    /// Number of spaces before the next word, unless it starts a wrapped line.
    spaces: usize,
    /// An incomplete word.
    word: String,
    /// Start positions of the parts of the word with another style, and their SGR parameters.
    styles: Vec<(usize, String)>,
    /// Style of the next text.
    style: String,
    /// Additional indentation of continuation lines.
    hang: usize,
    /// Whether the block has any output.
    begun: bool,
    /// The output that is decided and was not taken yet.
    out: String,
    /// Which words are links.
    links: Option<Links>,
}

impl TextWrap {
    /// Creates a block whose lines start after `indent` columns and end before `width`.
    pub(super) fn new(indent: usize, width: Option<usize>) -> Self {
        Self {
            indent,
            width: usable(width),
            ..Self::default()
        }
    }

    /// Makes links of words.
    pub(super) fn link(&mut self, links: Links) {
        self.links = Some(links);
    }

    /// Returns which words are links.
    pub(super) fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    /// Sets the width for the following words.
    pub(super) fn resize(&mut self, width: Option<usize>) {
        self.width = usable(width);
    }

    /// Adds indentation to the continuation of the line.
    pub(super) fn hang(&mut self, columns: usize) {
        self.hang = columns.min(self.width.unwrap_or(usize::MAX) / 2);
    }

    /// Returns the available columns for a line of text.
    pub(super) fn room(&self) -> usize {
        self.width
            .map_or(usize::MAX, |width| width.saturating_sub(self.indent))
    }

    /// Processes text in a style, given as the parameters of an SGR sequence.
    pub(super) fn push_styled(&mut self, piece: &str, style: &str) {
        style.clone_into(&mut self.style);
        self.push(piece);
        self.style.clear();
    }

    /// Processes the next piece of sanitized text.
    pub(super) fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            match c {
                '\n' => {
                    self.place_word();
                    self.line_ends += usize::from(self.begun);
                    self.spaces = 0;
                }
                '\t' => {
                    self.place_word();
                    self.spaces += TAB - (self.text_column() + self.spaces) % TAB;
                }
                c if c.is_whitespace() => {
                    self.place_word();
                    self.spaces += 1;
                }
                c => self.push_to_word(c),
            }
        }
        if self.width.is_none() {
            self.place_word();
        }
    }

    /// Returns the output that is decided.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Ends the block: returns the last word, and the end of an open line.
    pub(super) fn end(&mut self) -> String {
        self.place_word();
        if self.column > 0 {
            self.out.push('\n');
        }
        let out = self.take();
        *self = Self {
            links: self.links.take(),
            ..Self::new(self.indent, self.width)
        };
        out
    }

    /// Returns the number of text columns in the line.
    fn text_column(&self) -> usize {
        if self.line_ends > 0 {
            0
        } else {
            self.column.saturating_sub(self.indent)
        }
    }

    fn push_to_word(&mut self, c: char) {
        if let Some(width) = self.width {
            // Some characters change the width of the previous one, so only the whole word can be
            // measured.
            let length = self.word.len();
            let room = width.saturating_sub(self.indent + self.hang);
            self.word.push(c);
            let is_too_long = columns(&self.word) > room;
            self.word.truncate(length);
            if is_too_long && !self.is_in_url() {
                self.place_word();
            }
        }
        let style = self.styles.last().map_or("", |(_, style)| style);
        if style != self.style {
            self.styles.push((self.word.len(), self.style.clone()));
        }
        self.word.push(c);
        if breaks_after(c) {
            self.place_word();
        }
    }

    fn place_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let styles = std::mem::take(&mut self.styles);
        if self.line_ends > 0 {
            self.out.push_str(&"\n".repeat(self.line_ends.min(2)));
            self.column = 0;
        }
        self.line_ends = 0;
        let link = self.links.as_ref().and_then(|links| links.start(&word));
        for part in self.parts(&word) {
            let text = &word[part.clone()];
            self.make_room(columns(text));
            self.out.extend(link.as_deref());
            push_in_styles(text, &styles_in(&styles, part), &mut self.out);
            self.out.extend(link.as_ref().map(|_| END));
            self.column += columns(text);
        }
        self.begun = true;
    }

    /// Returns whether the word is a URL so far, which is one link, also if it needs several lines.
    fn is_in_url(&self) -> bool {
        let is_url = self.word.starts_with("https://") || self.word.starts_with("http://");
        is_url && self.links.is_some() && self.word.len() < LONGEST_URL
    }

    /// Splits a word into parts that fit into a line.
    fn parts(&self, word: &str) -> Vec<Range<usize>> {
        let room = self.width.map_or(usize::MAX, |width| {
            width.saturating_sub(self.indent + self.hang)
        });
        let (mut parts, mut start) = (Vec::new(), 0);
        let is_long = columns(word) > room;
        for (at, c) in word.char_indices().skip(1).filter(|_| is_long) {
            if columns(&word[start..at + c.len_utf8()]) > room {
                parts.push(start..at);
                start = at;
            }
        }
        parts.push(start..word.len());
        parts
    }

    /// Writes the separator before a word of `word` columns: spaces, or a line break and
    /// indentation.
    fn make_room(&mut self, word: usize) {
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
                self.out.push('\n');
                self.column = 0;
                self.indent + self.hang
            }
        };
        self.out.extend(std::iter::repeat_n(' ', gap));
        self.column += gap;
        self.spaces = 0;
    }
}

/// Returns the styles of a part of a word, with positions in the part.
fn styles_in(styles: &[(usize, String)], part: Range<usize>) -> Vec<(usize, String)> {
    let before = styles.iter().rposition(|(start, _)| *start <= part.start);
    let styles = styles.iter().skip(before.unwrap_or(0));
    let styles = styles.take_while(|(start, _)| *start < part.end);
    let moved = styles.map(|(start, style)| (start.saturating_sub(part.start), style.clone()));
    moved.collect()
}

/// Each styled part has a complete sequence: other output may follow any word.
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

fn usable(width: Option<usize>) -> Option<usize> {
    width.filter(|width| *width >= MIN_WIDTH)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use proptest::prelude::*;

    fn laid_out(pieces: &[&str], width: Option<usize>) -> String {
        let mut flow = TextWrap::new(2, width);
        for piece in pieces {
            flow.push(piece);
        }
        flow.end()
    }

    #[test]
    fn lines_are_wrapped_at_words_and_indented() {
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
    fn a_word_with_an_address_is_a_link_in_every_block() {
        let mut flow = TextWrap::new(2, Some(40));
        flow.link(Links::new(Arc::new(|word| {
            let is_bad = word.contains("bad");
            let address = if is_bad { "a\u{7}b" } else { "file://h/a#1" };
            word.contains(':').then(|| address.to_owned())
        })));
        for _ in 0..2 {
            flow.push("see ");
            flow.push_styled("a.rs:1", "36");
            flow.push(" bad:1");
            let link = "\u{1b}]8;;file://h/a#1\u{7}\u{1b}[36ma.rs:1\u{1b}[0m\u{1b}]8;;\u{7}";
            assert_eq!(flow.end(), format!("  see {link} bad:1\n"));
        }
    }

    #[test]
    fn a_url_of_several_lines_is_one_link() {
        let mut flow = TextWrap::new(2, Some(16));
        flow.link(Links::new(Arc::new(|word| Some(word.to_owned()))));
        let mut shown = String::new();
        for piece in ["https://a.b/", "cdefgh", "ijkl"] {
            flow.push_styled(piece, if piece == "cdefgh" { "1" } else { "" });
            shown += &flow.take();
        }
        let link = "\u{1b}]8;;https://a.b/cdefghijkl\u{7}";
        let first = format!("  {link}https://a.b/\u{1b}[1mcd\u{1b}[0m{END}\n");
        let rest = format!("  {link}\u{1b}[1mefgh\u{1b}[0mijkl{END}\n");
        assert_eq!(shown + &flow.end(), first + &rest);
    }

    #[test]
    fn the_indentation_of_code_is_kept() {
        assert_eq!(
            laid_out(&["a:\n    b\n\tc  d"], None),
            "  a:\n      b\n          c  d\n"
        );
    }

    #[test]
    fn leading_and_trailing_empty_lines_are_dropped_and_others_are_merged() {
        assert_eq!(
            laid_out(&["\n\n a \n", "\n\n\nb\n\n"], None),
            "   a\n\n  b\n"
        );
        assert_eq!(laid_out(&["", " \n"], Some(40)), "");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_no_line_is_too_long(
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
