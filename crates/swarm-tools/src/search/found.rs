//! Results of a search, with limits.

/// Collects entries of a search: skips those before the offset and stops at the limit.
#[derive(Debug)]
pub(super) struct SearchResults {
    pub(super) entries: Vec<String>,
    /// Remaining entries to skip.
    skip: usize,
    /// Remaining entries to show; `None` means no limit.
    room: Option<usize>,
    /// Remaining characters to show.
    chars: usize,
    /// Whether entries were omitted at the end.
    pub(super) is_truncated: bool,
}

impl SearchResults {
    pub(super) fn new(offset: usize, limit: Option<usize>, chars: usize) -> Self {
        Self {
            entries: Vec::new(),
            skip: offset,
            room: limit,
            chars,
            is_truncated: false,
        }
    }

    /// Adds an entry. Returns false if the limit is reached.
    pub(super) fn add(&mut self, entry: String) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return true;
        }
        let len = entry.chars().count() + 1;
        if self.room == Some(0) || len > self.chars {
            self.is_truncated = true;
            return false;
        }
        self.room = self.room.map(|room| room - 1);
        self.chars -= len;
        self.entries.push(entry);
        true
    }

    /// Formats the entries, with a note if there are more.
    pub(super) fn text(&self, offset: usize) -> String {
        let next = offset + self.entries.len();
        let note = format!("[more results: continue with offset {next}, or narrow the search]");
        let mut lines: Vec<&str> = self.entries.iter().map(String::as_str).collect();
        lines.extend(self.is_truncated.then_some(note.as_str()));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_where_the_next_one_starts() {
        let mut found = SearchResults::new(2, Some(2), 1_000);
        let taken: Vec<bool> = (0..6).map(|n| found.add(n.to_string())).collect();
        assert_eq!(taken, [true, true, true, true, false, false]);
        assert_eq!(
            found.text(2),
            "2\n3\n[more results: continue with offset 4, or narrow the search]"
        );
        let mut found = SearchResults::new(0, None, 5);
        assert!(found.add("abcd".into()) && !found.add("e".into()) && found.is_truncated);
    }
}
