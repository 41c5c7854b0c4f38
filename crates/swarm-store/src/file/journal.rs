//! `journal.jsonl`: one event a line, append-only.

use std::fs;
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem, memrchr};
use serde::de::DeserializeOwned;
use swarm_os::{Appendable, PendingSync};
use swarm_protocol::{Event, JournalEntry, MemberName, SpawnId, parse_repaired};

use crate::file::record;
use crate::file::team::FileTeam;
use crate::{BrokenJournalLine, Cursor, Events, JournalLines, Result};

impl FileTeam {
    pub(crate) fn journal(&self, event: Event) -> Result<()> {
        self.record_all([event])
    }

    pub(crate) fn events_from(&self, from: Cursor) -> Result<Events> {
        let bytes = swarm_os::read_optional_from(&self.at.journal(), from.0)?;
        if bytes.is_none() && !self.exists() {
            return Err(self.not_found());
        }
        Ok(parse_lines(&bytes.unwrap_or_default(), from))
    }

    pub(crate) fn events_with(&self, text: &str) -> Result<Vec<JournalEntry>> {
        let bytes = swarm_os::read_optional(&self.at.journal())?;
        if bytes.is_none() && !self.exists() {
            return Err(self.not_found());
        }
        let bytes = bytes.unwrap_or_default();
        let lines = lines_with(&bytes, text).into_iter();
        let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
        Ok(lines.filter_map(|line| parse_repaired(line).ok()).collect())
    }

    pub(crate) fn journal_end(&self) -> Result<Cursor> {
        match fs::metadata(self.at.journal()) {
            Ok(journal) => Ok(Cursor(journal.len())),
            Err(_) if self.exists() => Ok(Cursor::default()),
            Err(_) => Err(self.not_found()),
        }
    }
}

impl FileTeam {
    /// Appends one event.
    pub(crate) fn record(&self, event: Event) -> Result<()> {
        self.record_all([event])
    }

    /// Appends events in one write and returns once they are on disk.
    pub(crate) fn record_all(&self, events: impl IntoIterator<Item = Event>) -> Result<()> {
        Ok(self.enter(events)?.sync()?)
    }

    /// Renames a damaged file to keep it. Returns its new path.
    pub(crate) fn set_aside(
        &self,
        path: &Path,
        inbox: Option<&MemberName>,
        reason: String,
    ) -> Result<PathBuf> {
        let kept = swarm_os::quarantine(path)?;
        tracing::warn!(team = %self.team, kept = %kept.display(), reason, "damaged file set aside");
        self.record_done([Event::FileDamaged {
            file: path.display().to_string(),
            inbox: inbox.cloned(),
            kept: kept.display().to_string(),
            reason,
        }]);
        Ok(kept)
    }

    /// Like the above, without waiting for the disk.
    pub(crate) fn enter(&self, events: impl IntoIterator<Item = Event>) -> Result<PendingSync> {
        self.enter_into(None, events)
    }

    /// Opens the journal for [`Self::enter_into`], as the preparation of the lock under which the
    /// events are recorded. Links were refused then. Returns `None` if that is not possible, and the
    /// other one tries again.
    pub(crate) fn open_journal(&self) -> Option<Appendable> {
        Appendable::open(&self.at.journal()).ok()?
    }

    /// Like [`Self::enter`], for a journal that is already open. It is that of the locked team, because
    /// it was opened after the sidecar.
    pub(crate) fn enter_into(
        &self,
        journal: Option<Appendable>,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<PendingSync> {
        let path = self.at.journal();
        let at = self.now();
        let mut lines = Vec::new();
        let entries: Vec<_> = events
            .into_iter()
            .map(|event| JournalEntry { at, event })
            .collect();
        for entry in &entries {
            lines.extend(record::line(&path, entry)?);
            lines.push(b'\n');
        }
        if lines.is_empty() {
            return Ok(PendingSync::default());
        }
        if journal.is_none() {
            self.refuse_links().map_err(|error| self.explain(error))?;
        }
        self.store.lock_options.begin_change(&path)?;
        let entered = match journal {
            Some(journal) => journal.append(&lines),
            None => swarm_os::append(&path, &lines),
        };
        let entered = entered.map_err(|error| self.explain(error.into()))?;
        if !self.is_aside {
            for entry in &entries {
                self.store.notify_observer(&self.team, &entry.event);
            }
        }
        Ok(entered)
    }

    /// Records events of changes that are already in the files. A failure is only logged: the
    /// change is done, and a caller that got an error would repeat it.
    pub(crate) fn record_done(&self, events: impl IntoIterator<Item = Event>) {
        if let Err(error) = self.enter_done(events).sync() {
            tracing::error!(team = %self.team, %error, "cannot sync the journal: recent events may be lost in a power failure");
        }
    }

    /// Like the above, without waiting for the disk.
    pub(crate) fn enter_done(&self, events: impl IntoIterator<Item = Event>) -> PendingSync {
        self.enter_done_into(None, events)
    }

    /// Like the above, for a journal that is already open, see [`Self::enter_into`].
    pub(crate) fn enter_done_into(
        &self,
        journal: Option<Appendable>,
        events: impl IntoIterator<Item = Event>,
    ) -> PendingSync {
        let events: Vec<Event> = events.into_iter().collect();
        let entered = self.enter_into(journal, events.clone());
        entered.unwrap_or_else(|error| {
            tracing::error!(team = %self.team, %error, events = events.len(), "cannot record completed operations in the journal");
            for event in events.iter().filter(|_| !self.is_aside) {
                self.store.notify_observer(&self.team, event);
            }
            PendingSync::default()
        })
    }

    /// Returns the last event that satisfies `wanted` and whose line contains `text`.
    pub(crate) fn last_event(
        &self,
        text: &str,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Option<Event>> {
        let events = self.events_with(text)?.into_iter().rev();
        Ok(events.map(|entry| entry.event).find(wanted))
    }

    /// Records the end of a spawn, unless that is done already.
    pub(crate) fn record_end(&self, spawn: SpawnId, event: Event) -> Result<()> {
        let is_end = |event: &Event| match event {
            Event::MemberDied { spawn_id, .. } | Event::MemberStopped { spawn_id, .. } => {
                *spawn_id == spawn
            }
            _ => false,
        };
        if self.last_event(&spawn.to_string(), is_end)?.is_some() {
            return Ok(());
        }
        self.record(event)
    }
}

/// Returns the complete lines that contain `text`.
fn lines_with<'a>(mut bytes: &'a [u8], text: &str) -> Vec<&'a [u8]> {
    let finder = memmem::Finder::new(text);
    let mut lines = Vec::new();
    while let Some(at) = finder.find(bytes) {
        let Some(length) = memchr(b'\n', &bytes[at..]) else {
            break;
        };
        let start = memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
        lines.push(&bytes[start..at + length]);
        bytes = &bytes[at + length + 1..];
    }
    lines
}

pub(crate) fn parse_lines<T: DeserializeOwned>(bytes: &[u8], from: Cursor) -> JournalLines<T> {
    let mut events = JournalLines {
        entries: Vec::new(),
        broken: Vec::new(),
        next: from,
    };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else {
            // The line is still being written, or its writer was killed; the next writer completes
            // it.
            break;
        };
        let at = events.next.0;
        events.next.0 += line.len() as u64;
        if text.is_empty() {
            continue;
        }
        let parsed = std::str::from_utf8(text)
            .map_err(|error| error.to_string())
            .and_then(|text| parse_repaired(text).map_err(|error| error.to_string()));
        match parsed {
            Ok(entry) => events.entries.push(entry),
            Err(reason) => events.broken.push(BrokenJournalLine { at, reason }),
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"at":1,"type":"team_created","by":"me"}"#;

    #[test]
    fn broken_lines_are_reported_and_the_others_are_read() {
        let text = format!("{GOOD}\n{{\"at\":\n\n{GOOD}\nnot json\n\u{fffd}{GOOD}\n{GOOD}\n");
        let events: Events = parse_lines(text.as_bytes(), Cursor(0));
        assert_eq!(events.entries.len(), 3);
        assert_eq!(events.broken.len(), 3);
        assert_eq!(events.broken[0].at, GOOD.len() as u64 + 1);
        assert_eq!(events.next, Cursor(text.len() as u64));
    }

    #[test]
    fn only_whole_lines_with_the_text_are_returned() {
        let lines = lines_with(b"a 1\nb 2 b\n\na 2\nb 3\nb 4", "b");
        assert_eq!(lines, [b"b 2 b".as_slice(), b"b 3"]);
        assert!(lines_with(b"", "b").is_empty());
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_the_next_time() {
        let text = format!("{GOOD}\n{}", &GOOD[..10]);
        let events: Events = parse_lines(text.as_bytes(), Cursor(7));
        assert_eq!((events.entries.len(), events.broken.len()), (1, 0));
        assert_eq!(events.next, Cursor(7 + GOOD.len() as u64 + 1));
    }

    #[test]
    fn an_event_of_a_later_version_is_no_broken_line() {
        let events: Events = parse_lines(
            b"{\"at\":1,\"type\":\"from_the_future\",\"x\":1}\n",
            Cursor(0),
        );
        assert_eq!(events.entries[0].event, Event::Unknown);
    }
}
