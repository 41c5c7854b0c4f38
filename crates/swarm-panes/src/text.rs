//! The one door through which text reaches tmux.
//!
//! tmux arguments are not inert (all seen on tmux 3.3a): a word that ends in `;` ends the command, window names,
//! titles, start directories and borders run `#(…)`, and a border draws `#[…]` as a style. So a word becomes an
//! argument only by [`argument`], a text to be shown only by [`DisplayText`], a start directory only by
//! [`start_directory`], and an environment only by [`environment_word`].

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::PaneError;

/// Longest title or state in characters; tmux cuts what does not fit the border anyway.
const MAX_DISPLAY: usize = 60;

/// A word as tmux must be given it to read back the same bytes: where it ends in `;` tmux would end the command, and
/// takes a backslash before that one as the way to say it is meant.
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

/// Text that a terminal and a tmux format show as it is. Each `#` is doubled, which both the expansion of formats
/// and the drawing of borders take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisplayText(String);

impl DisplayText {
    /// Makes any text showable: control characters become spaces, characters that reorder or hide text go, what is
    /// too long is cut.
    pub(crate) fn new(text: &str) -> Self {
        let shown = shown(text);
        Self(shown.replace('#', "##"))
    }

    /// The text in the form for formats.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DisplayText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What [`DisplayText`] shows of a text, without the doubling.
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

/// Takes back the doubling of [`DisplayText`].
pub(crate) fn undoubled(text: &str) -> String {
    text.replace("##", "#")
}

/// Characters that turn the direction of text around or take no room: they can make a title read as another.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A directory for `-c`, which tmux expands as a format.
pub(crate) fn start_directory(path: &Path) -> OsString {
    let mut escaped = Vec::new();
    push_format(&mut escaped, path.as_os_str().as_bytes());
    OsString::from_vec(escaped)
}

/// Appends bytes as a format that expands to them: each `#` is doubled, but for those before a `[`. They are the beginning of a
/// style, which the expansion leaves to whatever draws it, as it stands (`format_expand1`).
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

/// A variable for `-e`, which tmux takes as it is.
///
/// # Errors
/// [`PaneError::Invalid`] for a name that is not `[A-Za-z_][A-Za-z0-9_]*` or a value with a NUL byte.
pub(crate) fn environment_word(name: &str, value: &str) -> Result<OsString, PaneError> {
    let good = name
        .bytes()
        .enumerate()
        .all(|(at, b)| b == b'_' || b.is_ascii_alphabetic() || (at > 0 && b.is_ascii_digit()));
    if name.is_empty() || !good {
        return Err(PaneError::Invalid {
            what: "environment variable",
            given: name.to_owned(),
            why: "a name consists of letters, digits and `_` and begins with no digit",
        });
    }
    if value.contains('\0') {
        return Err(PaneError::Invalid {
            what: "value of environment variable",
            given: name.to_owned(),
            why: "it holds a NUL byte",
        });
    }
    Ok(OsString::from(format!("{name}={value}")))
}

/// A shell command that appends its input to a file, for `pipe-pane`: tmux expands it as a format and a time, then
/// gives it to `/bin/sh`.
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

/// A text without terminal sequences: what a terminal would show of it, but for the movements of its cursor.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\n' | '\t' => plain.push(c),
            other if other.is_control() => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Skips the rest of a sequence after its ESC (ECMA-48): CSI to its final byte, strings to BEL or ST, others by one.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{1b}' && chars.next_if_eq(&'\\').is_some() {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// How tmux begins the line that it writes when a process has ended.
const DEAD: &str = "Pane is dead";

/// The last so many lines of a text, or all; blank lines at its end are left out first. Where lines are counted, the
/// blank ones before the last one are left out too, and so they are before tmux's word that a pane is dead: it
/// writes that into the lowest row, far below what the program left.
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

    /// How tmux 3.3a reads one word (`cmd_parse_from_arguments`): the bytes, and whether the command ends there.
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
        fn every_word_is_read_back_byte_for_byte(bytes in proptest::collection::vec(1u8..=255, 0..40), tail in "[\\\\;]{0,4}") {
            let mut word = bytes;
            word.extend_from_slice(tail.as_bytes());
            let word = OsString::from_vec(word);
            prop_assert_eq!(as_tmux_reads(&argument(&word)), (word.into_vec(), false));
        }

        #[test]
        fn shown_text_holds_no_control_character_and_no_lone_hash(text in ".{0,120}") {
            let display = DisplayText::new(&text);
            prop_assert!(!display.as_str().chars().any(char::is_control));
            prop_assert!(!display.as_str().replace("##", "").contains('#'));
            prop_assert_eq!(undoubled(display.as_str()), shown(&text));
        }
    }

    #[test]
    fn text_that_a_terminal_acts_on_is_taken_out() {
        assert_eq!(shown("a\u{1b}]52;c;x\u{7}b\nc\u{9b}"), "a ]52;c;x b c");
        assert_eq!(shown("\u{202e}evil\u{200b}"), "evil");
        assert_eq!(shown(&"x".repeat(100)).len(), MAX_DISPLAY);
    }

    #[test]
    fn sequences_are_dropped_and_text_stays() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\r\n\tc\u{1b}(d\u{1b}[";
        assert_eq!(without_escapes(text), "red ab\n\tcd");
    }

    #[test]
    fn the_last_lines_skip_the_gap_before_a_notice() {
        let text = "one\ntwo\n\n\n\nPane is dead\n\n";
        assert_eq!(last_lines(text, Some(2)), "two\nPane is dead");
        assert_eq!(last_lines(text, None), "one\ntwo\nPane is dead");
        assert_eq!(last_lines("one\n\n\ntwo\n", None), "one\n\n\ntwo");
        assert_eq!(last_lines("\n\n", Some(3)), "");
        assert_eq!(last_lines("one", Some(3)), "one");
    }

    #[test]
    fn names_of_variables_are_checked() {
        for bad in ["", "1A", "A B", "A=B", "A-B", "É"] {
            assert!(environment_word(bad, "x").is_err(), "{bad}");
        }
        assert_eq!(environment_word("_A1", "a=b\n;").unwrap(), "_A1=a=b\n;");
    }
}
