//! Receives the matching lines of one file from the searcher.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::found::SearchResults;

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
