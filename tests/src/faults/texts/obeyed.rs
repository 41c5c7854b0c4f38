//! Control sequences in the output of a command and in the input of a terminal.

use super::list::{CLIPBOARD, FORGED, HIDES, TITLE};
use crate::stage::Finished;

/// Returns whether a terminal would interpret the character.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Removes the sequences that set colours.
fn without_colours(text: &str) -> String {
    let mut left = String::new();
    let mut parts = text.split("\u{1b}[");
    left.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':');
        match end {
            Some(at) if part[at..].starts_with('m') => left.push_str(&part[at + 1..]),
            _ => {
                left.push_str("\u{1b}[");
                left.push_str(part);
            }
        }
    }
    left
}

/// Asserts that the text contains no control sequences except colours.
#[track_caller]
pub(super) fn assert_only_shown(whose: &str, text: &str) {
    let plain = without_colours(text);
    let obeyed = plain.chars().find(|c| is_obeyed(*c));
    assert!(obeyed.is_none(), "{whose} has a raw {obeyed:?}: {text:?}");
}

/// Asserts that both outputs of a command are only displayed, and that no text has set a colour or
/// inserted a line.
#[track_caller]
pub(super) fn assert_inert(finished: &Finished) {
    assert_only_shown(&finished.line, &finished.stdout);
    assert_only_shown(&finished.line, &finished.stderr);
    let hides = [&finished.stdout, &finished.stderr].map(|said| said.contains(HIDES));
    assert_eq!(hides, [false; 2], "{}", finished.story());
    for line in finished.stderr.lines() {
        assert!(!line.starts_with(FORGED), "{}", finished.story());
    }
}

/// Asserts that the output of the program in a pane is text, colours, its own title and the cursor
/// movements of its input line.
#[track_caller]
pub(super) fn assert_pane_speaks(name: &str, written: &[u8]) {
    let text = std::str::from_utf8(written).expect("a pane writes UTF-8");
    for part in text.split('\u{1b}').skip(1) {
        let whole = |title: &str| title.starts_with(name) && !title.contains(TITLE);
        let title = part
            .strip_prefix("]2;")
            .and_then(|rest| rest.split_once('\u{7}'));
        let is_title = title.is_some_and(|(title, _)| whole(title));
        assert!(
            part.starts_with('[') || is_title,
            "{name} sent its terminal {part:?}"
        );
    }
    let bad = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{7f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!text.contains(bad), "{name} sent its terminal {text:?}");
}

/// Asserts that no text was interpreted by a terminal: tmux itself sends sequences too, but none
/// for the clipboard, no strings of other programs, and no titles chosen by texts.
#[track_caller]
pub(super) fn assert_terminal_is_the_users(drawn: &str) {
    let sequences = ["\u{1b}]", "\u{1b}P", "\u{1b}k", "\u{1b}_", "\u{1b}^"];
    for start in sequences {
        for (at, _) in drawn.match_indices(start) {
            let rest = &drawn[at + start.len()..];
            let end = rest.find(['\u{7}', '\u{1b}']).unwrap_or(rest.len());
            let body = &rest[..end];
            let harms = start == "\u{1b}]" && body.starts_with("52")
                || body.contains(CLIPBOARD)
                || body.contains(TITLE);
            assert!(!harms, "the terminal was sent {start:?}{body:?}");
        }
    }
    let bad = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if let Some((at, c)) = drawn.char_indices().find(|(_, c)| bad(*c)) {
        let around: String = drawn[at..].chars().take(40).collect();
        panic!("the terminal was sent a raw {c:?}: {around:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_found() {
        for good in [
            "",
            "a\tb\n",
            "\u{1b}[1;31mred\u{1b}[0m",
            "\u{240b}",
            "\u{fffd}",
        ] {
            assert_only_shown("good", good);
            assert_terminal_is_the_users(good);
        }
        for bad in [
            "\u{1b}]2;x\u{7}",
            "\u{1b}[2J",
            "a\rb",
            "\u{9b}m",
            "\u{202e}",
            "\u{7f}",
        ] {
            assert!(
                catch_unwind(|| assert_only_shown("bad", bad)).is_err(),
                "{bad:?}"
            );
        }
        assert_pane_speaks("bob", b"\x1b]2;bob \xc2\xb7 idle\x07\x1b[2Khello\r\n");
        for bad in [
            "\u{1b}]2;EVIL\u{7}",
            "\u{1b}]52;c;x\u{7}",
            "\u{1b}Pq\u{1b}\\",
            "\u{9d}",
        ] {
            let spoken = || assert_pane_speaks("bob", bad.as_bytes());
            assert!(catch_unwind(spoken).is_err(), "{bad:?}");
        }
        for bad in [
            "\u{1b}]52;c;x\u{7}",
            "\u{1b}]2;a EVIL-TITLE\u{7}",
            "\u{2066}",
        ] {
            let sent = || assert_terminal_is_the_users(bad);
            assert!(catch_unwind(sent).is_err(), "{bad:?}");
        }
    }
}
