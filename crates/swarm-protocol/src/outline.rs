//! Locates the entries of an inbox file without parsing them: an inbox contains many messages that
//! were read long ago.

use std::fmt;
use std::ops::Range;
use std::string::FromUtf8Error;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::parse_inbox;

/// Number of bytes of two texts that are compared at a time.
const BLOCK: usize = 512;

/// Location of one entry in the text of an inbox file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Byte range of its JSON object.
    pub place: Range<usize>,
    /// Whether it is acknowledged.
    pub read: bool,
}

/// The text of an inbox file and the locations of its entries.
#[derive(Debug, Clone, Default)]
pub struct OutlinedInbox {
    /// Text of the whole file.
    pub text: String,
    /// Entries, oldest first.
    pub entries: Vec<Outline>,
}

impl OutlinedInbox {
    /// Locates the entries of an inbox file. Leading entries that are identical in an `earlier`
    /// state of the file are neither copied nor parsed again.
    ///
    /// # Errors
    /// Returns the bytes if they are not a JSON array, or if an element is not an entry or is
    /// unusual in any way; [`parse_inbox`] distinguishes such elements.
    pub fn find(bytes: Vec<u8>, earlier: Self) -> Result<Self, Vec<u8>> {
        let Self {
            mut text,
            mut entries,
        } = earlier;
        let same = common_prefix(&bytes, text.as_bytes());
        entries.truncate(entries.partition_point(|entry| entry.place.end <= same));
        let known = entries.last().map_or(0, |last| last.place.end);
        if known == 0 {
            text = String::from_utf8(bytes).map_err(FromUtf8Error::into_bytes)?;
        } else {
            let Ok(rest) = std::str::from_utf8(&bytes[known..]) else {
                return Err(bytes);
            };
            text.truncate(known);
            text.push_str(rest);
        }
        match find_after(&text, entries) {
            Some(entries) => Ok(Self { text, entries }),
            None => Err(text.into_bytes()),
        }
    }

    /// Returns the JSON text of the unacknowledged entries.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        let unread = self.entries.iter().filter(|entry| !entry.read);
        unread.map(|entry| &self.text[entry.place.clone()])
    }
}

/// Counts the unacknowledged entries of an inbox file as [`parse_inbox`] would: malformed elements
/// do not count. Used by overviews of whole teams, which do not need the entries themselves.
///
/// # Errors
/// As for [`parse_inbox`].
pub fn count_unread(bytes: &[u8]) -> Result<usize, serde_json::Error> {
    let found = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| find_after(text, Vec::new()));
    if let Some(entries) = found {
        return Ok(entries.iter().filter(|entry| !entry.read).count());
    }
    let entries = parse_inbox(bytes)?.entries;
    Ok(entries.iter().filter(|entry| !entry.read).count())
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.chunks(BLOCK).zip(b.chunks(BLOCK));
    let blocks = pairs.take_while(|(a, b)| a == b).count();
    let at = (blocks * BLOCK).min(a.len()).min(b.len());
    let rest = a[at..].iter().zip(&b[at..]);
    at + rest.take_while(|(a, b)| a == b).count()
}

/// Locates the entries after the known ones; `None` if anything other than an entry is found.
fn find_after(text: &str, mut entries: Vec<Outline>) -> Option<Vec<Outline>> {
    let mut at = entries.last().map_or(0, |last| last.place.end);
    loop {
        at = past_layout(text, at);
        let is_first = entries.is_empty();
        match text.as_bytes().get(at)? {
            b']' if !is_first => break,
            b',' if !is_first => {}
            b'[' if is_first => {
                let next = past_layout(text, at + 1);
                if text.as_bytes().get(next) == Some(&b']') {
                    at = next;
                    break;
                }
            }
            _ => return None,
        }
        let begins = past_layout(text, at + 1);
        let rest = text.get(begins..).filter(|rest| rest.starts_with('{'))?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Brief>();
        let read = values.next()?.ok()?.read;
        at = begins + values.byte_offset();
        let place = begins..at;
        entries.push(Outline { place, read });
    }
    (past_layout(text, at + 1) == text.len()).then_some(entries)
}

/// Returns the position of the next byte that is not whitespace.
fn past_layout(text: &str, at: usize) -> usize {
    let rest = text.as_bytes()[at..].iter();
    let layout = rest.take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    at + layout.count()
}

/// Reads the required fields of an entry and whether it is acknowledged. All other fields are
/// parsed by the rules of a whole entry and discarded: input that is accepted here is accepted
/// there.
struct Brief {
    read: bool,
}

impl<'de> Deserialize<'de> for Brief {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(BriefVisitor)
    }
}

struct BriefVisitor;

impl<'de> Visitor<'de> for BriefVisitor {
    type Value = Brief;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Brief, A::Error> {
        let (mut from, mut text, mut timestamp, mut read) = (false, false, false, false);
        while let Some(field) = fields.next_key::<Field>()? {
            // The last of two fields with the same name counts.
            let value = fields.next_value::<Kind>()?;
            match field {
                Field::From => from = value == Kind::Text,
                Field::Text => text = value == Kind::Text,
                Field::Timestamp => timestamp = value == Kind::Text,
                Field::Read => read = value == Kind::True,
                Field::Other => {}
            }
        }
        if from && text && timestamp {
            return Ok(Brief { read });
        }
        Err(A::Error::custom("a field is missing"))
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    From,
    Text,
    Timestamp,
    Read,
    #[serde(other)]
    Other,
}

/// The type of a value, as far as it is needed.
#[derive(PartialEq)]
enum Kind {
    Text,
    True,
    Other,
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Not `IgnoredAny`: an ignored value may be nested too deeply or contain invalid text.
        from.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(if value { Kind::True } else { Kind::Other })
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Kind, E> {
        Ok(Kind::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        while items.next_element::<Kind>()?.is_some() {}
        Ok(Kind::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        while items.next_entry::<Kind, Kind>()?.is_some() {}
        Ok(Kind::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InboxEntry, parse_repaired};

    fn entry(more: &str) -> String {
        format!(r#"{{"from":"a","text":"b","timestamp":"c"{more}}}"#)
    }

    fn alone(text: &str) -> Result<OutlinedInbox, Vec<u8>> {
        OutlinedInbox::find(text.into(), OutlinedInbox::default())
    }

    fn nested(depth: usize) -> String {
        entry(&format!(
            r#","deep":{}{}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        ))
    }

    #[test]
    fn the_count_matches_the_full_parse() {
        for (json, unread) in [
            (entry(""), 1),
            (entry(r#","read":false"#), 1),
            (entry(r#","read":true"#), 0),
            (entry(r#","read":"true""#), 1),
            (entry(r#","read":null"#), 1),
            (entry(r#","read":{"a":[true]}"#), 1),
            (entry(r#","read":[true]"#), 1),
            (entry(r#","read":-1.5"#), 1),
            // The last of two fields counts.
            (entry(r#","read":false,"read":true"#), 0),
            (entry(r#","text":7"#), 0),
            (entry(r#","text":7,"text":"b""#), 1),
            (entry(r#","text":"half \ud83d""#), 1),
            (entry(r#","unknown":{"deep":[1,2]}"#), 1),
            (entry(r#","unknown":1e999"#), 0),
            (entry(r#","half \ud83d":"half \ud83d""#), 1),
            (nested(100), 1),
            (nested(200), 0),
            (r#"["a","b","c"]"#.to_owned(), 0),
            (r#"{"from":"a","text":"b"}"#.to_owned(), 0),
            ("7".to_owned(), 0),
        ] {
            let file = format!("[{json}]");
            assert_eq!(count_unread(file.as_bytes()).unwrap(), unread, "{json}");
            let whole = parse_inbox(file.as_bytes()).unwrap();
            let whole = whole.entries.iter().filter(|entry| !entry.read);
            assert_eq!(whole.count(), unread, "{json}");
            // Every located entry can be parsed.
            if let Ok(found) = alone(&file) {
                for json in found.unread() {
                    parse_repaired::<InboxEntry>(json).unwrap();
                }
            }
        }
        assert_eq!(count_unread(b" \n").unwrap(), 0);
        count_unread(b"{}").unwrap_err();
    }

    #[test]
    fn entries_are_located_and_other_input_is_left_to_the_full_parse() {
        let one = entry(r#","read":true"#);
        let text = format!("[\n  {one} ,{}\t]\n", entry(""));
        let found = alone(&text).unwrap();
        let places = found.entries.iter().map(|entry| entry.place.clone());
        let pieces: Vec<_> = places.map(|place| &text[place]).collect();
        assert_eq!(pieces, [one.as_str(), &entry("")]);
        assert_eq!(found.unread().collect::<Vec<_>>(), [entry("")]);
        let find = |text: &str| OutlinedInbox::find(text.into(), found.clone());
        assert_eq!(find(" [ ]").unwrap().entries, []);
        for bad in [
            "",
            "{}",
            "[,]",
            "[]]",
            "\u{feff}[]",
            &format!("[{one}"),
            &format!("[{one},]"),
            &format!("[{one}{one}]"),
            &format!("[{one}]x"),
            &format!("[{one},7]"),
            &one,
            &text[..text.len() - 4],
        ] {
            assert_eq!(find(bad).unwrap_err(), bad.as_bytes());
        }
    }

    #[test]
    fn an_earlier_state_does_not_change_the_result() {
        let texts: Vec<String> = [3, 5, 4]
            .into_iter()
            .zip(["", r#","read":true"#, r#","read":false"#])
            .flat_map(|(count, more)| {
                (0..=count).map(move |number| {
                    let mut all = vec![entry(r#","long":"0123456789""#); count];
                    all[number.min(count - 1)] = entry(more);
                    format!("[{}]", all.join(",\n"))
                })
            })
            .collect();
        for earlier in &texts {
            let earlier = alone(earlier).unwrap();
            for text in &texts {
                let found = OutlinedInbox::find(text.clone().into(), earlier.clone()).unwrap();
                assert_eq!(found.text, *text);
                assert_eq!(found.entries, alone(text).unwrap().entries, "{text}");
                let half = text[..text.len() / 2].to_owned();
                let refused = OutlinedInbox::find(half.clone().into(), earlier.clone());
                assert_eq!(refused.unwrap_err(), half.as_bytes());
            }
        }
    }

    #[test]
    fn a_difference_within_a_character_is_found_and_invalid_text_is_returned() {
        let file = |last: &str| format!("[{},{}]", entry(""), entry(last));
        let earlier = alone(&file(r#","x":"é""#)).unwrap();
        let other = file(r#","x":"è""#);
        let found = OutlinedInbox::find(other.clone().into(), earlier.clone()).unwrap();
        assert_eq!((&found.text, &found.entries), (&other, &earlier.entries));
        let mut torn = other.into_bytes();
        let at = torn.iter().position(|byte| !byte.is_ascii()).unwrap();
        torn[at] = b'x';
        let refused = OutlinedInbox::find(torn.clone(), earlier);
        assert_eq!(refused.unwrap_err(), torn);
    }
}
