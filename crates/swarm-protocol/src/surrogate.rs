//! Lone surrogates. JavaScript may cut a string between the two halves of a UTF-16 surrogate pair
//! (for example a summary that ends within an emoji) and write the remaining half as a lone
//! `\\udXXX` escape, which is not valid in Rust strings.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;

const HIGH: RangeInclusive<u16> = 0xD800..=0xDBFF;
const LOW: RangeInclusive<u16> = 0xDC00..=0xDFFF;

/// Number of bytes of one `\\uXXXX` escape.
const ESCAPE: usize = 6;

/// Parses JSON that JavaScript may have written. If that fails, retries with each lone surrogate
/// replaced by U+FFFD.
///
/// # Errors
/// The error of the first attempt if the second one fails too.
pub fn parse_repaired<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(json).or_else(|error| match repair(json) {
        Cow::Owned(repaired) => serde_json::from_str(&repaired).map_err(|_second| error),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Replaces every lone surrogate escape by U+FFFD.
fn repair(json: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        at += found;
        let Some(unit) = escape_at(json, at) else {
            at = after_escape(json, at);
            continue;
        };
        let paired = HIGH.contains(&unit)
            && escape_at(json, at + ESCAPE).is_some_and(|next| LOW.contains(&next));
        if paired {
            at += 2 * ESCAPE;
            continue;
        }
        if HIGH.contains(&unit) || LOW.contains(&unit) {
            repaired.push_str(&json[copied..at]);
            repaired.push_str("\\ufffd");
            copied = at + ESCAPE;
        }
        at += ESCAPE;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    repaired.push_str(&json[copied..]);
    Cow::Owned(repaired)
}

/// Returns the UTF-16 unit of the escape at `at`, if there is one.
fn escape_at(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
    let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// Returns the position after the two-character escape at `at`.
fn after_escape(json: &str, at: usize) -> usize {
    let mut rest = json[at..].char_indices().skip(2);
    rest.next().map_or(json.len(), |(offset, _)| at + offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        for (json, text) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83dé""#, "\\\u{fffd}é"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
        ] {
            assert_eq!(parse_repaired::<String>(json).unwrap(), text, "{json}");
        }
    }

    proptest! {
        #[test]
        fn valid_json_is_unchanged(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(repair(&json), json.as_str());
        }

        #[test]
        fn no_input_panics_and_only_lone_surrogates_change(json in r#"(\\|\\u|d83d|de00|u|"|é|[a-f0-9]){0,20}"#) {
            let repaired = repair(&json);
            if let Ok(text) = serde_json::from_str::<String>(&json) {
                prop_assert_eq!(serde_json::from_str::<String>(&repaired).unwrap(), text);
            }
        }

        #[test]
        fn any_sequence_of_utf16_units_parses(units in prop::collection::vec(any::<u16>(), 0..12)) {
            let escapes: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let expected = String::from_utf16_lossy(&units);
            prop_assert_eq!(parse_repaired::<String>(&format!("\"{}\"", escapes.concat())).unwrap(), expected);
        }
    }
}
