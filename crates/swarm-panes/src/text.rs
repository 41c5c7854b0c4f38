//! Escaping of all text that is passed to tmux.
//!
//! tmux arguments are not inert (observed with tmux 3.3a): a word that ends in `;` ends the
//! command; window names, titles, start directories and borders execute `#(…)`; and a border
//! interprets `#[…]` as a style. Therefore words are passed only through [`argument`], displayed
//! text only through [`DisplayText`], start directories only through [`start_directory`], and
//! environment variables only through [`environment_word`].

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::PaneError;

/// Maximum length of a title or state in characters; tmux truncates longer text to the border
/// anyway.
const MAX_DISPLAY: usize = 60;

/// Escapes a word so that tmux reads the same bytes: a trailing `;` would end the command and needs
/// a backslash.
pub(crate) fn argument(word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    match bytes.split_last() {
        Some((b';', head)) => {
            let mut escaped = head.to_vec();
            escaped.extend_from_slice(b"\\;");
            OsString::from_vec(escaped)
        }
        _ => word.to_owned(),
    }
}

/// Text that a terminal and a tmux format display verbatim. Each `#` is doubled; both format
/// expansion and border drawing undo that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisplayText(String);

impl DisplayText {
    /// Sanitizes any text for display: control characters become spaces, characters that reorder or
    /// hide text are removed, and long text is truncated.
    pub(crate) fn new(text: &str) -> Self {
        let shown = shown(text);
        Self(shown.replace('#', "##"))
    }

    /// Returns the text in the form for formats.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DisplayText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the text that [`DisplayText`] displays, without doubling.
pub(crate) fn shown(text: &str) -> String {
    let clean: String = text
        .chars()
        .filter(|c| !is_invisible(*c))
        .map(|c| {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                ' '
            } else {
                c
            }
        })
        .take(MAX_DISPLAY)
        .collect();
    clean.trim().to_owned()
}

/// Undoes the doubling of [`DisplayText`].
pub(crate) fn undo_doubling(text: &str) -> String {
    text.replace("##", "#")
}

/// Characters that change the text direction or have no width: they can disguise a title.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes a directory for `-c`, which tmux expands as a format.
pub(crate) fn start_directory(path: &Path) -> OsString {
    let mut escaped = Vec::new();
    push_format(&mut escaped, path.as_os_str().as_bytes());
    OsString::from_vec(escaped)
}

/// Appends bytes as a format that expands to them: each `#` is doubled, except before a `[`. That
/// begins a style, which the expansion passes on unchanged (`format_expand1`).
fn push_format(format: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        let (run, after) = rest.split_at(hashes.max(1));
        format.extend_from_slice(run);
        if *first == b'#' && after.first() != Some(&b'[') {
            format.extend_from_slice(run);
        }
        rest = after;
    }
}

/// Formats a variable for `-e`, which tmux does not expand.
///
/// # Errors
/// [`PaneError::Invalid`] for a name that is not `[A-Za-z_][A-Za-z0-9_]*` or a value with a NUL
/// byte.
pub(crate) fn environment_word(name: &str, value: &str) -> Result<OsString, PaneError> {
    let good = name
        .bytes()
        .enumerate()
        .all(|(at, b)| b == b'_' || b.is_ascii_alphabetic() || (at > 0 && b.is_ascii_digit()));
    if name.is_empty() || !good {
        return Err(PaneError::Invalid {
            what: "environment variable",
            given: name.to_owned(),
            why: "a name consists of letters, digits and `_` and does not begin with a digit",
        });
    }
    if value.contains('\0') {
        return Err(PaneError::Invalid {
            what: "value of environment variable",
            given: name.to_owned(),
            why: "contains a NUL byte",
        });
    }
    Ok(OsString::from(format!("{name}={value}")))
}

/// Returns a shell command for `pipe-pane` that appends its input to a file. tmux expands it as a
/// format and a time, then passes it to `/bin/sh`.
pub(crate) fn append_command(path: &Path) -> OsString {
    let mut command = b"exec cat >>'".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\'' => command.extend_from_slice(b"'\\''"),
            b'%' => command.extend_from_slice(b"%%"),
            other => command.push(*other),
        }
    }
    command.push(b'\'');
    let mut format = Vec::new();
    push_format(&mut format, &command);
    OsString::from_vec(format)
}

/// Removes terminal sequences: returns the text that a terminal would display, ignoring cursor
/// movements.
pub(crate) fn without_escapes(text: &str) -> String {
    filtered(text, |_sequence| false)
}

/// Removes terminal sequences that are not colours (SGR).
pub(crate) fn only_colours(text: &str) -> String {
    filtered(text, |sequence| {
        sequence.starts_with("\u{1b}[") && sequence.ends_with('m')
    })
}

fn filtered(text: &str, keeps: impl Fn(&str) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let after = match c {
            '\u{1b}' => after_sequence(after),
            _ => after,
        };
        let piece = &rest[..rest.len() - after.len()];
        match c {
            '\u{1b}' if keeps(piece) => plain.push_str(piece),
            '\n' | '\t' => plain.push(c),
            other if other.is_control() => {}
            other => plain.push(other),
        }
        rest = after;
    }
    plain
}

/// Skips the rest of a sequence after its ESC (ECMA-48): CSI up to its final byte, strings up to
/// BEL or ST, those with intermediate bytes up to the next other one, others by one character.
fn after_sequence(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
        Some(' '..='/') => while chars.next().is_some_and(|c| (' '..='/').contains(&c)) {},
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                match chars.as_str().strip_prefix('\\') {
                    Some(after) if c == '\u{1b}' => return after,
                    _ if c == '\u{7}' => break,
                    _ => {}
                }
            }
        }
        _ => {}
    }
    chars.as_str()
}

/// Start of the line that tmux writes when a process has exited.
const DEAD: &str = "Pane is dead";

/// Returns the last lines of a text, or all of them, without trailing blank lines. If lines are
/// counted, the blank lines before the last one are omitted too. The same applies before tmux's
/// message that a pane is dead, which it writes into the bottom row, far below the output.
pub(crate) fn last_lines(text: &str, lines: Option<usize>) -> String {
    let text = text.trim_end();
    let (body, last) = match text.rsplit_once('\n') {
        Some((body, last)) => (body.trim_end(), last),
        None => ("", text),
    };
    let Some(count) = lines else {
        let is_notice = last.starts_with(DEAD) && !body.is_empty();
        return if is_notice {
            format!("{body}\n{last}")
        } else {
            text.to_owned()
        };
    };
    let mut all: Vec<&str> = body.lines().collect();
    all.push(last);
    all[all.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses one word as tmux 3.3a does (`cmd_parse_from_arguments`): the bytes, and whether the
    /// command ends there.
    fn as_tmux_reads(word: &OsStr) -> (Vec<u8>, bool) {
        let mut bytes = word.as_bytes().to_vec();
        if bytes.last() == Some(&b';') {
            bytes.pop();
            if bytes.last() == Some(&b'\\') {
                bytes.pop();
                bytes.push(b';');
            } else {
                return (bytes, true);
            }
        }
        (bytes, false)
    }

    proptest! {
        #[test]
        fn every_word_reaches_tmux_byte_for_byte(bytes in proptest::collection::vec(1u8..=255, 0..40), tail in "[\\\\;]{0,4}") {
            let mut word = bytes;
            word.extend_from_slice(tail.as_bytes());
            let word = OsString::from_vec(word);
            prop_assert_eq!(as_tmux_reads(&argument(&word)), (word.into_vec(), false));
        }

        #[test]
        fn displayed_text_has_no_control_characters_and_no_single_hash(text in ".{0,120}") {
            let display = DisplayText::new(&text);
            prop_assert!(!display.as_str().chars().any(char::is_control));
            prop_assert!(!display.as_str().replace("##", "").contains('#'));
            prop_assert_eq!(undo_doubling(display.as_str()), shown(&text));
        }
    }

    #[test]
    fn control_sequences_are_removed_from_displayed_text() {
        assert_eq!(shown("a\u{1b}]52;c;x\u{7}b\nc\u{9b}"), "a ]52;c;x b c");
        assert_eq!(shown("\u{202e}evil\u{200b}"), "evil");
        assert_eq!(shown(&"x".repeat(100)).len(), MAX_DISPLAY);
    }

    #[test]
    fn terminal_sequences_are_removed_and_text_is_kept() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\r\n\tc\u{1b}(Bd\u{1b}[";
        assert_eq!(without_escapes(text), "red ab\n\tcd");
        let colours = only_colours(text);
        assert_eq!(colours, "\u{1b}[1;31mred\u{1b}[0m ab\n\tcd");
    }

    #[test]
    fn the_last_lines_skip_the_gap_before_the_dead_pane_message() {
        let text = "one\ntwo\n\n\n\nPane is dead\n\n";
        assert_eq!(last_lines(text, Some(2)), "two\nPane is dead");
        assert_eq!(last_lines(text, None), "one\ntwo\nPane is dead");
        assert_eq!(last_lines("one\n\n\ntwo\n", None), "one\n\n\ntwo");
        assert_eq!(last_lines("\n\n", Some(3)), "");
        assert_eq!(last_lines("one", Some(3)), "one");
    }

    #[test]
    fn names_of_variables_are_validated() {
        for bad in ["", "1A", "A B", "A=B", "A-B", "É"] {
            assert!(environment_word(bad, "x").is_err(), "{bad}");
        }
        assert_eq!(environment_word("_A1", "a=b\n;").unwrap(), "_A1=a=b\n;");
    }
}
