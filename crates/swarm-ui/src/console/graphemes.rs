//! Characters as people see them.

use crate::width::columns;

/// Joins two characters into one grapheme.
pub(super) const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Iterates over the graphemes of a text that starts at a boundary. A grapheme is a character and
/// its modifiers: accents, variation selectors, skin tones, joined characters, the second half of a
/// flag.
pub(super) fn graphemes(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (sign, after) = rest.split_at(first_grapheme_len(rest));
        rest = after;
        (!sign.is_empty()).then_some(sign)
    })
}

/// Returns the length of the first grapheme in bytes.
fn first_grapheme_len(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, mut last)) = chars.next() else {
        return 0;
    };
    let mut half_a_flag = is_letter_of_flag(last);
    for (at, c) in chars {
        let joined =
            last == ZERO_WIDTH_JOINER || changes(c) || (half_a_flag && is_letter_of_flag(c));
        if !joined {
            return at;
        }
        half_a_flag = false;
        last = c;
    }
    text.len()
}

/// Returns the last position before `end` that is a grapheme boundary regardless of the preceding
/// text, or 0.
pub(super) fn run_start(text: &str, end: usize) -> usize {
    let mut chars = text[..end].char_indices().rev().peekable();
    while let Some((at, c)) = chars.next() {
        let joined = chars
            .peek()
            .is_some_and(|(_, before)| *before == ZERO_WIDTH_JOINER);
        if !joined && !changes(c) && !is_letter_of_flag(c) {
            return at;
        }
    }
    0
}

/// Returns whether a character modifies the previous one.
fn changes(c: char) -> bool {
    let is_skin_tone = matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
    is_skin_tone || (!c.is_control() && columns(c.encode_utf8(&mut [0; 4])) == 0)
}

fn is_letter_of_flag(c: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&c)
}
