//! Exact string replacement on bytes, so that the rest of the file is unchanged.

use crate::one_line::line_ends;

#[derive(Debug, Clone, Copy)]
pub(super) struct Substitution<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) everywhere: bool,
}

/// A file after a substitution.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Substituted {
    pub(super) bytes: Vec<u8>,
    /// Number of replaced occurrences.
    pub(super) count: usize,
    /// Line of the first occurrence, from 1.
    pub(super) line: usize,
}

/// Reason why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The old text does not occur in the file.
    Absent,
    /// The old text occurs this many times, but one occurrence was expected.
    Ambiguous(usize),
}

/// Replaces the old text by the new one. In a file with CRLF line ends, line ends in both texts are
/// converted to CRLF.
pub(super) fn substitute(content: &[u8], what: Substitution<'_>) -> Result<Substituted, Refusal> {
    let crlf = has_crlf_lines(content);
    let (old, new) = if crlf {
        (with_crlf(what.old), with_crlf(what.new))
    } else {
        (what.old.into(), what.new.into())
    };
    let places = find_all(content, old.as_bytes());
    match places.len() {
        0 => Err(Refusal::Absent),
        count if count > 1 && !what.everywhere => Err(Refusal::Ambiguous(count)),
        count => {
            let mut bytes = Vec::with_capacity(content.len());
            let mut from = 0;
            for place in &places {
                bytes.extend_from_slice(&content[from..*place]);
                bytes.extend_from_slice(new.as_bytes());
                from = place + old.len();
            }
            bytes.extend_from_slice(&content[from..]);
            let before = content.get(..places[0]).unwrap_or_default();
            let line = line_ends(before) + 1;
            Ok(Substituted { bytes, count, line })
        }
    }
}

/// Whether most lines end in CRLF.
fn has_crlf_lines(content: &[u8]) -> bool {
    let ends = line_ends(content);
    let crlf = content.windows(2).filter(|pair| *pair == b"\r\n").count();
    crlf * 2 > ends
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Returns the positions of `needle`, without overlaps.
fn find_all(haystack: &[u8], needle: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let Some(first) = needle.first() else {
        return places;
    };
    // The comparison of one byte makes the search about four times as fast.
    let is_needle = |part: &[u8]| part[0] == *first && part == needle;
    let find = |rest: &[u8]| rest.windows(needle.len()).position(is_needle);
    let mut from = 0;
    while let Some(at) = find(&haystack[from..]) {
        places.push(from + at);
        from += at + needle.len();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn once(content: &[u8], old: &str, new: &str) -> Result<Substituted, Refusal> {
        substitute(
            content,
            Substitution {
                old,
                new,
                everywhere: false,
            },
        )
    }

    #[test]
    fn one_occurrence_is_replaced_and_two_are_refused() {
        let done = once(b"a\nb\nc\n", "b", "x\ny").unwrap();
        assert_eq!(
            (done.bytes.as_slice(), done.count, done.line),
            (&b"a\nx\ny\nc\n"[..], 1, 2)
        );
        assert_eq!(once(b"a a", "a", "b"), Err(Refusal::Ambiguous(2)));
        assert_eq!(once(b"a a", "c", "b"), Err(Refusal::Absent));
        assert_eq!(once(b"a a", "", "b"), Err(Refusal::Absent));
        let all = substitute(
            b"aaa",
            Substitution {
                old: "a",
                new: "aa",
                everywhere: true,
            },
        )
        .unwrap();
        assert_eq!((all.bytes.as_slice(), all.count), (&b"aaaaaa"[..], 3));
    }

    #[test]
    fn crlf_and_the_byte_order_mark_are_preserved() {
        let content = b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n";
        let done = once(content, "one\ntwo", "1\n2\n2b").unwrap();
        assert_eq!(done.bytes, b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n");
        let done = once(content, "one\r\ntwo", "1\r\n2").unwrap();
        assert_eq!(done.bytes, b"\xef\xbb\xbf1\r\n2\r\nthree\r\n");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_preserved() {
        assert_eq!(
            once(b"\xe4\xff\nold\n\xfe", "old", "new").unwrap().bytes,
            b"\xe4\xff\nnew\n\xfe"
        );
    }

    proptest! {
        #[test]
        fn replacing_all_occurrences_matches_the_standard_library(
            content in "[ab\n]{0,60}", old in "[ab\n]{1,3}", new in "[abc]{0,3}",
        ) {
            let done = substitute(content.as_bytes(), Substitution { old: &old, new: &new, everywhere: true });
            match done {
                Ok(done) => prop_assert_eq!(done.bytes, content.replace(&old, &new).into_bytes()),
                Err(refusal) => {
                    prop_assert_eq!(refusal, Refusal::Absent);
                    prop_assert!(!content.contains(&old));
                }
            }
        }
    }
}
