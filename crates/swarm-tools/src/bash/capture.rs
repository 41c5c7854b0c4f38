//! Bounded buffer for the head and the tail of an output.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::one_line::line_ends;

/// The first and last bytes of an output.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Maximum number of bytes of the head and of the tail.
    half: usize,
    /// Total number of bytes.
    total: u64,
    line_ends: usize,
    ends_with_line: bool,
}

impl Capture {
    /// Creates a buffer for `chars` characters of up to four bytes each.
    pub(super) fn new(chars: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: (chars * 4).div_ceil(2),
            total: 0,
            line_ends: 0,
            ends_with_line: true,
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.line_ends += line_ends(bytes);
        if let Some(last) = bytes.last() {
            self.ends_with_line = *last == b'\n';
        }
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Whether the output certainly fits completely after `more` bytes.
    pub(super) fn has_room_for(&self, more: usize) -> bool {
        // Head and tail together hold four bytes for each character.
        self.total + more as u64 <= self.half as u64 / 2
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.head.iter().chain(&self.tail).copied().collect()
    }

    /// Returns the total number of lines, including a last line without line end.
    pub(super) fn lines(&self) -> usize {
        self.line_ends + usize::from(!self.ends_with_line)
    }

    /// Returns the output, shortened to `chars` characters, with a note where text is omitted.
    pub(super) fn text(&self, chars: usize) -> String {
        let kept = (self.head.len() + self.tail.len()) as u64;
        if kept == self.total {
            let bytes = self.bytes();
            let text = String::from_utf8_lossy(&bytes);
            let count = text.chars().count();
            if count <= chars {
                return text.into_owned();
            }
            let left_out = format!("{} characters", count - chars);
            return joined(
                first_chars(&text, chars / 2),
                last_chars(&text, chars - chars / 2),
                &left_out,
            );
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        // The tail may begin in the middle of a character.
        let begin = tail
            .iter()
            .take_while(|byte| (**byte & 0xc0) == 0x80)
            .count();
        let tail = String::from_utf8_lossy(&tail[begin..]);
        let (head, tail) = (
            first_chars(&head, chars / 2),
            last_chars(&tail, chars - chars / 2),
        );
        let left_out = self.total - (head.len() + tail.len()) as u64;
        joined(head, tail, &format!("about {left_out} bytes"))
    }
}

fn joined(head: &str, tail: &str, left_out: &str) -> String {
    format!("{head}\n[… {left_out} omitted …]\n{tail}")
}

fn first_chars(text: &str, chars: usize) -> &str {
    text.char_indices()
        .nth(chars)
        .map_or(text, |(at, _)| &text[..at])
}

fn last_chars(text: &str, chars: usize) -> &str {
    match chars.checked_sub(1) {
        None => "",
        Some(before) => text
            .char_indices()
            .rev()
            .nth(before)
            .map_or(text, |(at, _)| &text[at..]),
    }
}

/// Maximum length of an output file's name in characters.
const MAX_NAME_CHARS: usize = 80;

/// Returns the output file of a call. Ids come from model servers and may contain any characters.
pub(super) fn output_file(directory: &Path, id: &str) -> PathBuf {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = id.chars().filter(is_plain).take(MAX_NAME_CHARS).collect();
    directory.join(format!("{name}.output"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(pieces: &[&[u8]], chars: usize) -> Capture {
        let mut capture = Capture::new(chars);
        for piece in pieces {
            capture.add(piece);
        }
        capture
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        assert_eq!(captured(&[b"ab", b"\n", b"c"], 10).text(10), "ab\nc");
        assert_eq!(
            captured(&["ä".repeat(10).as_bytes()], 10).text(10),
            "ä".repeat(10)
        );
        assert_eq!(captured(&[], 10).text(10), "");
    }

    #[test]
    fn a_long_output_keeps_both_ends() {
        let text = format!("{}{}", "a".repeat(500), "z".repeat(500));
        let cut = captured(&[text.as_bytes()], 10).text(10);
        assert_eq!(cut, "aaaaa\n[… about 990 bytes omitted …]\nzzzzz");
        let cut = captured(&[b"0123456789ab"], 10).text(10);
        assert_eq!(cut, "01234\n[… 2 characters omitted …]\n789ab");
    }

    #[test]
    fn lines_are_counted_to_the_end() {
        let mut capture = Capture::new(10);
        assert_eq!(capture.lines(), 0);
        for _ in 0..1_000 {
            capture.add(b"x\n");
        }
        assert_eq!(capture.lines(), 1_000);
        capture.add(b"y");
        assert_eq!(capture.lines(), 1_001);
    }

    proptest! {
        #[test]
        fn memory_and_text_stay_within_bounds(pieces in proptest::collection::vec(".{0,40}", 0..40), chars in 1_usize..50) {
            let mut capture = Capture::new(chars);
            let mut whole = String::new();
            for piece in &pieces {
                capture.add(piece.as_bytes());
                whole.push_str(piece);
            }
            prop_assert!(capture.head.len() + capture.tail.len() <= chars * 4 + 2);
            let text = capture.text(chars);
            if whole.chars().count() <= chars {
                prop_assert_eq!(text, whole);
            } else {
                prop_assert!(text.chars().count() <= chars + 60, "{}", text);
                prop_assert!(text.contains("omitted"));
            }
        }
    }
}
