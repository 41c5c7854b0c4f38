//! How many messages wait in an inbox, without taking it apart.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::InboxEntry;
use crate::surrogate::parse_mended;

/// Counts the entries of an inbox file that are not acknowledged, as [`crate::parse_inbox`] tells them: elements that are
/// no entries do not count. For looks at whole teams, whose inboxes hold many entries that nobody asks about.
///
/// # Errors
/// As [`crate::parse_inbox`].
pub fn count_unread(bytes: &[u8]) -> Result<usize, serde_json::Error> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(0);
    }
    let elements: Vec<&RawValue> = serde_json::from_slice(bytes)?;
    let unread = elements.iter().filter(|raw| is_unread(raw.get()));
    Ok(unread.count())
}

fn is_unread(json: &str) -> bool {
    // A struct may also be written as an array, an entry may not.
    let brief = json.starts_with('{').then(|| serde_json::from_str(json));
    match brief {
        Some(Ok(Brief { read, .. })) => !read.0,
        // What is unusual is judged by the one who reads it all.
        _ => parse_mended::<InboxEntry>(json).is_ok_and(|entry| !entry.read),
    }
}

/// What makes an entry one, and whether it is acknowledged.
#[derive(Deserialize)]
#[expect(dead_code, reason = "what is not read must all the same be there")]
struct Brief<'a> {
    #[serde(borrow)]
    from: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(default)]
    read: Yes,
}

/// Whether a value is `true`; anything else is no.
#[derive(Default)]
struct Yes(bool);

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(YesVisitor)
    }
}

struct YesVisitor;

impl<'de> Visitor<'de> for YesVisitor {
    type Value = Yes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Yes, E> {
        Ok(Yes(value))
    }

    fn visit_unit<E>(self) -> Result<Yes, E> {
        Ok(Yes(false))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Yes, E> {
        Ok(Yes(false))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Yes, E> {
        Ok(Yes(false))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Yes, E> {
        Ok(Yes(false))
    }

    fn visit_str<E>(self, _: &str) -> Result<Yes, E> {
        Ok(Yes(false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Yes, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Yes(false))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Yes, A::Error> {
        while items.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Yes(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_inbox;

    #[test]
    fn what_counts_is_what_the_whole_parse_would_count() {
        let entry = |more: &str| format!(r#"{{"from":"a","text":"b","timestamp":"c"{more}}}"#);
        for (json, unread) in [
            (entry(""), 1),
            (entry(r#","read":false"#), 1),
            (entry(r#","read":true"#), 0),
            (entry(r#","read":"true""#), 1),
            (entry(r#","read":null"#), 1),
            (entry(r#","read":{"a":[true]}"#), 1),
            (entry(r#","read":[true]"#), 1),
            (entry(r#","read":-1.5"#), 1),
            // The last one of two counts.
            (entry(r#","read":false,"read":true"#), 0),
            (entry(r#","text":7"#), 0),
            (entry(r#","text":"half \ud83d""#), 1),
            (entry(r#","unknown":{"deep":[1,2]}"#), 1),
            (r#"["a","b","c"]"#.to_owned(), 0),
            (r#"{"from":"a","text":"b"}"#.to_owned(), 0),
            ("7".to_owned(), 0),
        ] {
            let file = format!("[{json}]");
            assert_eq!(count_unread(file.as_bytes()).unwrap(), unread, "{json}");
            let whole = parse_inbox(file.as_bytes()).unwrap();
            let whole = whole.entries.iter().filter(|entry| !entry.read);
            assert_eq!(whole.count(), unread, "{json}");
        }
        assert_eq!(count_unread(b" \n").unwrap(), 0);
        count_unread(b"{}").unwrap_err();
    }
}
