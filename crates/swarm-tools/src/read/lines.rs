//! Reads a range of numbered lines of a file.

use std::fmt::Write as _;
use std::io::{self, Read};

use crate::files::ContentHasher;

/// The requested range of lines and its limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// First line, from 1.
    pub(super) first: usize,
    pub(super) count: usize,
    /// Maximum characters of one line.
    pub(super) line_chars: usize,
    /// Maximum bytes of all lines.
    pub(super) chars: usize,
}

/// Result of reading a range of lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// The numbered lines.
    pub(super) text: String,
    /// Number of lines in `text`.
    pub(super) lines: usize,
    /// Number of lines of the file, as far as it was read.
    pub(super) total: usize,
    /// Whether the whole file was read, so that `total` and `hash` cover all of it.
    pub(super) complete: bool,
    /// Hash of the content, if the whole file was read.
    pub(super) hash: Option<u64>,
    /// Whether the start of the file contains NUL bytes.
    pub(super) binary: bool,
}

/// Files up to this size in bytes are always read completely, so that any later change of the
/// content is detected.
const MAX_HASHED_BYTES: u64 = 16 << 20;

/// Maximum number of bytes read at a time.
const MAX_CHUNK: usize = 64 * 1024;

/// Number of bytes examined to detect binary files, as in git.
const BINARY_CHECK_BYTES: usize = 8_000;

fn looks_binary(beginning: &[u8]) -> bool {
    beginning
        .iter()
        .take(BINARY_CHECK_BYTES)
        .any(|byte| *byte == 0)
}

/// Reads the lines of `window` from a file of `len` bytes.
pub(super) fn show(mut file: impl Read, len: u64, window: Window) -> io::Result<Shown> {
    let mut shown = Shown::default();
    let mut hasher = ContentHasher::default();
    let mut line = Line::default();
    // The length is unknown or 0 for files that the kernel generates, and a file may grow meanwhile.
    let room = match usize::try_from(len) {
        Ok(0) | Err(_) => MAX_CHUNK,
        Ok(len) => len.clamp(BINARY_CHECK_BYTES, MAX_CHUNK),
    };
    let mut chunk = vec![0; room];
    let mut first_chunk = true;
    loop {
        let n = match file.read(&mut chunk) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = &chunk[..n];
        if first_chunk && looks_binary(bytes) {
            return Ok(Shown {
                binary: true,
                ..shown
            });
        }
        first_chunk = false;
        hasher.add(bytes);
        if n == 0 {
            if line.started {
                shown.take(&mut line, window);
            }
            shown.complete = true;
            shown.hash = Some(hasher.finish());
            return Ok(shown);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.add(piece, window.line_chars);
            if piece.ends_with(b"\n") {
                shown.take(&mut line, window);
            }
        }
        if len > MAX_HASHED_BYTES && shown.is_full(window) {
            return Ok(shown);
        }
    }
}

/// The line being read. Keeps only the part that can be shown.
#[derive(Debug, Default)]
struct Line {
    kept: Vec<u8>,
    len: usize,
    started: bool,
}

impl Line {
    fn add(&mut self, piece: &[u8], line_chars: usize) {
        self.started = true;
        // Up to four bytes per character, and two for the line end.
        let room = (line_chars * 4 + 2).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
        self.len += piece.len();
    }
}

impl Shown {
    fn is_full(&self, window: Window) -> bool {
        self.lines >= window.count || self.text.len() >= window.chars
    }

    /// Completes a line: counts it, and adds it if it is in the window.
    fn take(&mut self, line: &mut Line, window: Window) {
        self.total += 1;
        if self.total >= window.first && !self.is_full(window) {
            let text = String::from_utf8_lossy(&line.kept);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            // A byte-order mark is not part of the first line.
            let text = if self.total == 1 {
                text.strip_prefix('\u{feff}').unwrap_or(text)
            } else {
                text
            };
            let (text, cut) = match text.char_indices().nth(window.line_chars) {
                Some((at, _)) => (
                    &text[..at],
                    format!(" [truncated: the line has {} bytes]", line.len),
                ),
                None => (text, String::new()),
            };
            // Writing to a String cannot fail.
            let _ok = writeln!(self.text, "{:>6}\t{text}{cut}", self.total);
            self.lines += 1;
        }
        *line = Line::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Window = Window {
        first: 1,
        count: 100,
        line_chars: 10,
        chars: 10_000,
    };

    fn text(content: &[u8], window: Window) -> Shown {
        show(content, content.len() as u64, window).unwrap()
    }

    #[test]
    fn lines_are_numbered_as_by_cat() {
        let shown = text(b"a\n\nc", ALL);
        assert_eq!(shown.text, "     1\ta\n     2\t\n     3\tc\n");
        assert_eq!((shown.lines, shown.total, shown.complete), (3, 3, true));
        assert_eq!(
            text(b"\xef\xbb\xbfa\r\nb\r\n", ALL).text,
            "     1\ta\n     2\tb\n"
        );
        assert_eq!(text(b"", ALL).total, 0);
    }

    #[test]
    fn a_window_shows_its_lines_and_counts_all_lines() {
        let shown = text(
            b"1\n2\n3\n4\n5\n",
            Window {
                first: 2,
                count: 2,
                ..ALL
            },
        );
        assert_eq!(shown.text, "     2\t2\n     3\t3\n");
        assert_eq!((shown.lines, shown.total), (2, 5));
        assert_eq!(text(b"1\n", Window { first: 9, ..ALL }).lines, 0);
    }

    #[test]
    fn long_lines_and_long_texts_are_truncated() {
        let shown = text("äöüäöüäöüäöü\nb\n".as_bytes(), ALL);
        assert_eq!(
            shown.text,
            "     1\täöüäöüäöüä [truncated: the line has 25 bytes]\n     2\tb\n"
        );
        let shown = text(&b"abc\n".repeat(100), Window { chars: 30, ..ALL });
        assert_eq!((shown.lines, shown.total), (3, 100));
    }

    #[test]
    fn a_very_long_line_uses_bounded_memory() {
        let mut line = Line::default();
        for _ in 0..1_000 {
            line.add(&[b'x'; 10_000], 10);
        }
        assert_eq!((line.kept.len(), line.len), (42, 10_000_000));
    }

    #[test]
    fn binary_data_is_detected() {
        assert!(text(b"\x7fELF\0\0", ALL).binary);
        assert!(!text(&[0xe4, b'\n'], ALL).binary);
        let grown = show(&b"text\0"[..], 2, ALL).unwrap();
        assert!(grown.binary);
    }
}
