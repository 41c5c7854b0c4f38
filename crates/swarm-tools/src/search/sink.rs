//! Receives the matching lines of one file from the searcher, and limits the results of a search.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

/// Converts matching lines and their context lines to entries.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    pub(super) found: &'a mut SearchResults,
    pub(super) path: &'a str,
    pub(super) numbers: bool,
    pub(super) line_chars: usize,
    /// Matching lines so far.
    pub(super) matches: usize,
    /// Whether entries of another file precede, so that context needs a separator.
    pub(super) separate: bool,
}

impl Lines<'_> {
    /// Adds lines; `sign` after path and number distinguishes matches from context.
    fn add(&mut self, bytes: &[u8], first: Option<u64>, sign: char) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n');
        for (line, n) in lines.zip(first.unwrap_or(1)..) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let (line, cut) = match line.char_indices().nth(self.line_chars) {
                Some((at, _)) => (&line[..at], " [truncated]"),
                None => (line, ""),
            };
            let path = self.path;
            let entry = if self.numbers {
                format!("{path}{sign}{n}{sign}{line}{cut}")
            } else {
                format!("{path}{sign}{line}{cut}")
            };
            if !self.found.add(entry) {
                return false;
            }
        }
        true
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if std::mem::take(&mut self.separate) && !self.found.add("--".into()) {
            return Ok(false);
        }
        self.matches += 1;
        Ok(self.add(found.bytes(), found.line_number(), ':'))
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if std::mem::take(&mut self.separate) && !self.found.add("--".into()) {
            return Ok(false);
        }
        let sign = if *context.kind() == SinkContextKind::Other {
            ':'
        } else {
            '-'
        };
        Ok(self.add(context.bytes(), context.line_number(), sign))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        Ok(self.found.add("--".into()))
    }
}

/// Counts matching lines up to a limit.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) lines: usize,
    pub(super) enough: usize,
}

impl Sink for Count {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, _found: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += 1;
        Ok(self.lines < self.enough)
    }
}

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
