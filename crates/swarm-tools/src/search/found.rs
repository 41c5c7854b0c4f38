//! What a search found, within bounds.

/// The entries of a search: those before the offset are dropped, those after the limit are not looked for.
#[derive(Debug)]
pub(super) struct Found {
    /// The entries that are shown.
    pub(super) entries: Vec<String>,
    /// Entries still to be left out at the beginning.
    skip: usize,
    /// Entries that may still be shown; none for any number.
    room: Option<usize>,
    /// Characters that may still be shown.
    chars: usize,
    /// Whether something was left out at the end.
    pub(super) cut: bool,
}

impl Found {
    pub(super) fn new(offset: usize, limit: Option<usize>, chars: usize) -> Self {
        Self {
            entries: Vec::new(),
            skip: offset,
            room: limit,
            chars,
            cut: false,
        }
    }

    /// Takes an entry. False when there is no room for it nor for any later one.
    pub(super) fn add(&mut self, entry: String) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return true;
        }
        let len = entry.chars().count() + 1;
        if self.room == Some(0) || len > self.chars {
            self.cut = true;
            return false;
        }
        self.room = self.room.map(|room| room - 1);
        self.chars -= len;
        self.entries.push(entry);
        true
    }

    /// The entries as text, with a note when there are more.
    pub(super) fn text(&self, offset: usize) -> String {
        let next = offset + self.entries.len();
        let note = format!("[there is more; go on with offset {next}, or narrow the search]");
        let mut lines: Vec<&str> = self.entries.iter().map(String::as_str).collect();
        lines.extend(self.cut.then_some(note.as_str()));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cut_out_and_says_where_the_next_begins() {
        let mut found = Found::new(2, Some(2), 1_000);
        let taken: Vec<bool> = (0..6).map(|n| found.add(n.to_string())).collect();
        assert_eq!(taken, [true, true, true, true, false, false]);
        assert_eq!(
            found.text(2),
            "2\n3\n[there is more; go on with offset 4, or narrow the search]"
        );
        let mut found = Found::new(0, None, 5);
        assert!(found.add("abcd".into()) && !found.add("e".into()) && found.cut);
    }
}
