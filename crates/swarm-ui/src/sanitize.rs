//! Sanitizes all untrusted text: from agents, peers, files and programs.
//!
//! A terminal interprets control characters, so all are removed or replaced: an escape sequence
//! could set the clipboard, change the window title or hide the following text, and a bidirectional
//! override disguises a command. Colour sequences are dropped, other controls become visible
//! characters.

/// Sanitizes text for one line: as [`clean_text`], with line breaks and tabs as single spaces,
/// trimmed.
pub fn clean_line(text: &str) -> String {
    if is_plain_line(text) {
        return text.to_owned();
    }
    let clean = clean_text(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a text is one line of printable ASCII without superfluous spaces, as are nearly
/// all fields of tables.
fn is_plain_line(text: &str) -> bool {
    let mut before = b' ';
    let is_plain = text.bytes().all(|byte| {
        let is_doubled = before == b' ' && byte == b' ';
        before = byte;
        matches!(byte, b' '..=b'~') && !is_doubled
    });
    is_plain && (before != b' ' || text.is_empty())
}

/// Sanitizes text of several lines. Tabs and line breaks are kept; CRLF and Unicode separators
/// become plain line breaks.
pub fn clean_text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Fast path: nearly all text is plain ASCII.
        let (plain, other) = rest.split_at(plain_length(rest));
        clean.push_str(plain);
        rest = other;
        let Some(c) = rest.chars().next() else {
            return clean;
        };
        if let Some(length) = csi_sequence(rest) {
            rest = &rest[length..];
        } else {
            rest = &rest[c.len_utf8()..];
            push_safe(&mut clean, c, rest);
        }
    }
}

/// Number of bytes that are compared at once.
const BLOCK: usize = 32;

/// Returns the length of the leading printable ASCII, line breaks and tabs.
fn plain_length(text: &str) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let bytes = text.as_bytes();
    // Without an exit in the middle of a block, all of its bytes are compared at once.
    let blocks = bytes.chunks_exact(BLOCK);
    let plain =
        blocks.take_while(|block| block.iter().fold(true, |all, byte| all & is_plain(byte)));
    let start = plain.count() * BLOCK;
    let other = bytes[start..].iter().position(|byte| !is_plain(byte));
    other.map_or(text.len(), |other| start + other)
}

/// Returns the length of the control sequence (`ESC [ … letter`, as for colours) at the start of
/// `text`.
///
/// Only such sequences are removed entirely. Sequences that carry free text (such as OSC) are not,
/// because the removal could hide the text.
fn csi_sequence(text: &str) -> Option<usize> {
    let body = text
        .strip_prefix("\u{1b}[")
        .or_else(|| text.strip_prefix('\u{9b}'))?;
    let parameters = body
        .bytes()
        .take_while(|b| b"0123456789:;?".contains(b))
        .count();
    let complete = body
        .as_bytes()
        .get(parameters)
        .is_some_and(u8::is_ascii_alphabetic);
    complete.then(|| text.len() - body.len() + parameters + 1)
}

fn push_safe(clean: &mut String, c: char, rest: &str) {
    match c {
        '\n' | '\t' => clean.push(c),
        // A line break of other systems; at the end of a piece, its second half may be in the next
        // one.
        '\r' if rest.is_empty() || rest.starts_with('\n') => {}
        '\u{2028}' | '\u{2029}' | '\u{85}' => clean.push('\n'),
        c => clean.extend(shown(c)),
    }
}

/// Returns the displayed form of a character: a visible substitute for one that a terminal would
/// interpret, nothing for an invisible one, and the character itself otherwise.
pub(crate) fn shown(c: char) -> Option<char> {
    match c {
        '\0'..='\u{1f}' => char::from_u32(CONTROL_PICTURES + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        // C1 controls, line separators, and directional embeddings, overrides and isolates.
        '\u{80}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(char::REPLACEMENT_CHARACTER)
        }
        c => (!is_invisible(c)).then_some(c),
    }
}

/// First of the visible symbols for the C0 controls.
const CONTROL_PICTURES: u32 = 0x2400;

/// Invisible characters that can hide text: direction marks, fillers, annotations and tags. The
/// joiner and the variation selectors, which are part of emoji, are not included.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_control_character_passes() {
        for (given, shown) in [
            ("a\u{1b}[31mred\u{1b}[0m", "ared"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}", "␛]52;c;ZXZpbA==␇"),
            ("\u{1b}]0;title\u{1b}\\", "␛]0;title␛\\"),
            ("\u{9b}2Jx", "x"),
            ("\u{9d}0;t\u{9c}", "\u{fffd}0;t\u{fffd}"),
            ("a\u{8}b\u{7f}", "a␈b␡"),
            ("rm \u{202e}fdp.exe\u{2069}", "rm \u{fffd}fdp.exe\u{fffd}"),
            ("x\u{e0041}\u{200b}y", "xy"),
            ("one\r\ntwo\rthree\u{2028}four", "one\ntwo␍three\nfour"),
            ("\ttab", "\ttab"),
            ("\u{1b}[", "␛["),
        ] {
            assert_eq!(clean_text(given), shown, "{given:?}");
        }
    }

    #[test]
    fn a_control_character_is_found_at_every_position() {
        for before in 0..3 * BLOCK {
            for after in 0..BLOCK {
                let (before, after) = ("x".repeat(before), "y".repeat(after));
                let clean = clean_text(&format!("{before}\u{7}{after}"));
                assert_eq!(clean, format!("{before}␇{after}"));
            }
        }
    }

    #[test]
    fn a_cleaned_line_is_a_single_line() {
        assert_eq!(clean_line("  a\tb\r\n c\n"), "a b c");
        for (given, plain) in [
            ("", true),
            ("a b", true),
            (" a", false),
            ("a ", false),
            (" ", false),
            ("a  b", false),
        ] {
            assert_eq!(
                (clean_line(given) == given, is_plain_line(given)),
                (plain, plain),
                "{given:?}"
            );
        }
    }

    /// Returns whether a terminal would interpret the text.
    fn is_interpreted(text: &str) -> bool {
        text.chars().any(|c| {
            (c.is_control() && c != '\n' && c != '\t')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        })
    }

    proptest! {
        #[test]
        fn no_cleaned_text_is_interpreted(text in "(\\x1b|\\[|\\]|[0-9;]|m|\\PC|\\pC){0,40}") {
            prop_assert!(!is_interpreted(&clean_text(&text)));
            prop_assert!(!is_interpreted(&clean_line(&text)));
            prop_assert!(!clean_line(&text).contains(['\n', '\t']));
            prop_assert!(!is_plain_line(&text) || clean_text(&text) == text);
        }

        #[test]
        fn no_split_text_is_interpreted(
            text in "(\\x1b|\\[|\\]|[0-9;]|m|\\n|\\r|a){0,20}", cut in any::<prop::sample::Index>(),
        ) {
            let (one, two) = text.split_at(cut.index(text.len() + 1));
            let joined = clean_text(one) + &clean_text(two);
            prop_assert!(!is_interpreted(&joined));
        }

        #[test]
        fn cleaning_twice_changes_nothing(text in any::<String>()) {
            let once = clean_text(&text);
            prop_assert_eq!(clean_text(&once), once);
        }

        #[test]
        fn plain_text_is_unchanged(text in "[a-zA-Z0-9 äöü中文😀.,;:!?<>(){}\\[\\]\n\t]{0,40}") {
            prop_assert_eq!(clean_text(&text), text);
        }
    }
}
