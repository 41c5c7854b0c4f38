//! Search in rows of text.

use std::ops::Range;

/// A text to search for. Upper and lower case are the same unless the text contains upper case.
#[derive(Debug)]
pub(super) struct Search {
    wanted: Vec<char>,
    is_exact: bool,
}

impl Search {
    pub(super) fn new(wanted: &str) -> Self {
        let is_exact = wanted.chars().any(char::is_uppercase);
        Self {
            wanted: wanted.chars().collect(),
            is_exact,
        }
    }

    /// Returns the places of the text in a row, in order and without overlap.
    pub(super) fn places(&self, row: &str) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        for (at, _) in row.char_indices() {
            if places.last().is_some_and(|last| at < last.end) {
                continue;
            }
            if let Some(length) = self.length_at(&row[at..]) {
                places.push(at..at + length);
            }
        }
        places
    }

    pub(super) fn is_in(&self, row: &str) -> bool {
        row.char_indices()
            .any(|(at, _)| self.length_at(&row[at..]).is_some())
    }

    /// Returns the length in bytes of the text at the start of `row`.
    fn length_at(&self, row: &str) -> Option<usize> {
        let mut chars = row.chars();
        let mut length = 0;
        for wanted in &self.wanted {
            let c = chars.next()?;
            let is_same = c == *wanted || (!self.is_exact && lower(c) == lower(*wanted));
            if !is_same {
                return None;
            }
            length += c.len_utf8();
        }
        (length > 0).then_some(length)
    }
}

fn lower(c: char) -> char {
    if c.is_ascii() {
        c.to_ascii_lowercase()
    } else {
        c.to_lowercase().next().unwrap_or(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_matters_only_for_a_text_with_upper_case() {
        let row = "fix Fix FIX Übung";
        assert_eq!(Search::new("fix").places(row), [0..3, 4..7, 8..11]);
        assert_eq!(
            Search::new("Fix").places(row),
            vec![Range { start: 4, end: 7 }]
        );
        assert!(Search::new("übung").is_in(row));
        assert_eq!(Search::new("aa").places("aaaaa"), [0..2, 2..4]);
        assert!(!Search::new("").is_in("a"));
    }
}
