//! The one door for text that somebody else wrote: agents, peers, files, programs.
//!
//! A terminal obeys control characters, so none passes: an escape sequence could set the clipboard, retitle the
//! window or hide what follows, and a bidirectional override shows a command as another one. Sequences that only
//! colour text are dropped, other controls become visible signs.

/// Text of one line: as [`clean_text`], with line ends and tabs as single spaces and none at the ends.
pub fn clean_line(text: &str) -> String {
    if is_plain_line(text) {
        return text.to_owned();
    }
    let clean = clean_text(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text is one line of printable ASCII without superfluous spaces, as nearly all fields of tables are.
fn is_plain_line(text: &str) -> bool {
    let mut before = b' ';
    let is_plain = text.bytes().all(|byte| {
        let is_doubled = before == b' ' && byte == b' ';
        before = byte;
        matches!(byte, b' '..=b'~') && !is_doubled
    });
    is_plain && (before != b' ' || text.is_empty())
}

/// Text of many lines. Tabs and line ends are kept, CRLF and the separators of Unicode become plain line ends.
pub fn clean_text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Nearly everything is plain ASCII, which is copied as a whole.
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

/// Length of the printable ASCII, line ends and tabs that `text` begins with.
fn plain_length(text: &str) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let other = text.bytes().position(|byte| !is_plain(&byte));
    other.unwrap_or(text.len())
}

/// Length of the control sequence (`ESC [ … letter`, as for colours) that `text` begins with.
///
/// Only the parameters of such a sequence are swallowed. Sequences that carry free text (OSC and its kin) are not
/// taken out as a whole, or they could hide it.
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
        // The line end of other systems; at the end of a piece its other half may be in the next one.
        '\r' if rest.is_empty() || rest.starts_with('\n') => {}
        '\u{2028}' | '\u{2029}' | '\u{85}' => clean.push('\n'),
        c => clean.extend(shown(c)),
    }
}

/// The character that stands for one that a terminal would obey, the character itself where it would not, and
/// nothing for one without a picture.
pub(crate) fn shown(c: char) -> Option<char> {
    match c {
        '\0'..='\u{1f}' => char::from_u32(CONTROL_PICTURES + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        // C1 controls, separators of lines, and directional embeddings, overrides and isolates.
        '\u{80}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(char::REPLACEMENT_CHARACTER)
        }
        c => (!is_invisible(c)).then_some(c),
    }
}

/// First of the visible pictures of the C0 controls.
const CONTROL_PICTURES: u32 = 0x2400;

/// Characters without a picture, in which text can be hidden: direction marks, fillers, annotations and tags. The
/// joiner and the variation selectors, which emoji are made with, are not among them.
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
    fn nothing_that_a_terminal_obeys_passes() {
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
    fn a_line_is_one_line() {
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

    /// Whether a terminal would do something else with the text than to show it.
    fn is_obeyed(text: &str) -> bool {
        text.chars().any(|c| {
            (c.is_control() && c != '\n' && c != '\t')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        })
    }

    proptest! {
        #[test]
        fn no_text_is_obeyed(text in "(\\x1b|\\[|\\]|[0-9;]|m|\\PC|\\pC){0,40}") {
            prop_assert!(!is_obeyed(&clean_text(&text)));
            prop_assert!(!is_obeyed(&clean_line(&text)));
            prop_assert!(!clean_line(&text).contains(['\n', '\t']));
            prop_assert!(!is_plain_line(&text) || clean_text(&text) == text);
        }

        #[test]
        fn no_cut_between_two_pieces_is_obeyed(
            text in "(\\x1b|\\[|\\]|[0-9;]|m|\\n|\\r|a){0,20}", cut in any::<prop::sample::Index>(),
        ) {
            let (one, two) = text.split_at(cut.index(text.len() + 1));
            let joined = clean_text(one) + &clean_text(two);
            prop_assert!(!is_obeyed(&joined));
        }

        #[test]
        fn cleaning_twice_changes_nothing(text in any::<String>()) {
            let once = clean_text(&text);
            prop_assert_eq!(clean_text(&once), once);
        }

        #[test]
        fn plain_words_are_left_alone(text in "[a-zA-Z0-9 äöü中文😀.,;:!?<>(){}\\[\\]\n\t]{0,40}") {
            prop_assert_eq!(clean_text(&text), text);
        }
    }
}
