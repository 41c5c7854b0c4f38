//! Reads a growing file in pieces that can be displayed.

use std::path::Path;

use swarm_store::StoreError;

use super::seen::{LONGEST_TITLE, seen};
use crate::failure::Result;

/// Maximum length of an incomplete escape sequence that is held back.
const LONGEST_ESCAPE: usize = LONGEST_TITLE;

/// Data that was read from a file and not yet returned.
#[derive(Debug, Default)]
pub(super) struct Tail {
    position: u64,
    held: Vec<u8>,
}

impl Tail {
    /// Reads the data appended since the last call. A missing file counts as empty; a path that is
    /// not a file is an error.
    pub(super) fn read_more(&mut self, path: &Path) -> Result<()> {
        let read = swarm_os::read_optional_from(path, self.position).map_err(StoreError::from)?;
        let read = read.unwrap_or_default();
        self.position += read.len() as u64;
        self.held.extend(read);
        Ok(())
    }

    /// Returns the displayed text so far. Holds back incomplete characters, escape sequences and
    /// overwritten lines unless `is_all`.
    pub(super) fn take_text(&mut self, is_all: bool) -> String {
        self.forget_states();
        let whole = if is_all {
            self.held.len()
        } else {
            whole(&self.held)
        };
        let taken: Vec<u8> = self.held.drain(..whole).collect();
        seen(&String::from_utf8_lossy(&taken))
    }

    /// Returns the complete lines so far; the incomplete last line only if `is_all`.
    pub(super) fn take_lines(&mut self, is_all: bool) -> Vec<String> {
        let last_break = self.held.iter().rposition(|byte| *byte == b'\n');
        let whole = if is_all {
            self.held.len()
        } else {
            last_break.map_or(0, |at| at + 1)
        };
        let taken: Vec<u8> = self.held.drain(..whole).collect();
        let text = seen(&String::from_utf8_lossy(&taken));
        text.lines().map(str::to_owned).collect()
    }
}

impl Tail {
    /// Drops overwritten states of the unfinished last line, since a progress bar may run for
    /// hours.
    fn forget_states(&mut self) {
        let start = line_start(&self.held);
        let line = &self.held[start..];
        // The last byte may be the first half of a CRLF.
        let before_last = line.len().saturating_sub(1);
        if let Some(at) = line[..before_last].iter().rposition(|byte| *byte == b'\r') {
            self.held.drain(start..start + at);
        }
    }
}

fn line_start(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1)
}

/// Returns how many bytes end at a complete character and sequence.
fn whole(bytes: &[u8]) -> usize {
    let start = line_start(bytes);
    // A line that was overwritten once may be overwritten again.
    if bytes[start..].contains(&b'\r') {
        return start;
    }
    let escape = bytes
        .iter()
        .rposition(|byte| *byte == b'\x1b')
        .filter(|at| bytes.len() - at < LONGEST_ESCAPE && is_unfinished(&bytes[at + 1..]));
    let bytes = &bytes[..escape.unwrap_or(bytes.len())];
    // A UTF-8 character has at most four bytes, so an incomplete one starts in the last three.
    let start = bytes.len().saturating_sub(3);
    let cut = (start..bytes.len()).find(|at| {
        let needed = match bytes[*at] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        at + needed > bytes.len()
    });
    cut.unwrap_or(bytes.len())
}

/// Returns whether the bytes after an escape can still become a color or title sequence.
fn is_unfinished(after: &[u8]) -> bool {
    match after {
        [] | [b']'] => true,
        [b'[', parameters @ ..] => parameters
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':')),
        [b']', b'0'..=b'2', title @ ..] => title.iter().all(|byte| *byte >= b' '),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tail(held: &[u8]) -> Tail {
        Tail {
            position: 0,
            held: held.to_vec(),
        }
    }

    #[test]
    fn incomplete_sequences_are_held_back() {
        for (given, shown) in [
            ("abc".as_bytes(), "abc"),
            (b"abc\x1b[3", "abc"),
            (b"abc\x1b[31m", "abc\x1b[31m"),
            (b"abc\x1b", "abc"),
            ("ab…".as_bytes(), "ab…"),
            (&"ab…".as_bytes()[..4], "ab"),
            (&"ab😀".as_bytes()[..5], "ab"),
            (b"ab\x1b]2;bob", "ab"),
            (b"ab\x1b]2;bob\x07c", "abc"),
            (b"a\n10%\r20%", "a\n"),
            (b"a\n10%\r20%\r\n", "a\n20%\n"),
            (b"a\r", ""),
        ] {
            assert_eq!(tail(given).take_text(false), shown, "{given:?}");
        }
        assert_eq!(tail(b"abc\x1b[3").take_text(true), "abc\x1b[3");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    fn reading_continues_at_the_end_and_rejects_directories() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("output.log");
        let mut tail = Tail::default();
        tail.read_more(&path).unwrap();
        assert_eq!(tail.take_text(false), "", "not there yet");
        for (file, shown) in [("one\n", "one\n"), ("one\ntwo\n", "two\n")] {
            std::fs::write(&path, file).unwrap();
            tail.read_more(&path).unwrap();
            assert_eq!(tail.take_text(false), shown);
        }
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        tail.read_more(&pipe).unwrap_err();
    }

    #[test]
    fn lines_wait_for_their_end() {
        let mut tail = tail(b"one\r\ntwo\nthr");
        assert_eq!(tail.take_lines(false), ["one", "two"]);
        tail.held.extend(b"ee");
        assert_eq!(tail.take_lines(true), ["three"]);
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_whole(text in "(\\x1b|\\[|[0-9;]|m|ä|😀|a|\n){0,40}", cut in any::<prop::sample::Index>()) {
            let cut = cut.index(text.len() + 1);
            let mut tail = tail(&text.as_bytes()[..cut]);
            let mut shown = tail.take_text(false);
            tail.held.extend(&text.as_bytes()[cut..]);
            shown += &tail.take_text(true);
            prop_assert_eq!(shown, text);
        }
    }
}
