//! `journal.jsonl`: one event a line, append-only.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use swarm_fs::FsError;
use swarm_protocol::{Event, JournalEntry, SpawnId, parse_mended};

use crate::team_files::TeamFiles;
use crate::{Result, StoreError, record};

/// Events as read.
#[derive(Debug, Clone, Default)]
pub struct Events {
    /// Oldest first.
    pub entries: Vec<JournalEntry>,
    /// Lines that are no events.
    pub broken: Vec<BrokenLine>,
    /// Position in bytes behind the last line that was read.
    pub next: u64,
}

/// A line of the journal that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLine {
    /// Where it begins, in bytes.
    pub at: u64,
    /// Why it is no event.
    pub reason: String,
}

impl TeamFiles<'_> {
    /// Enters one event.
    pub(crate) fn record(&self, event: Event) -> Result<()> {
        self.record_all([event])
    }

    /// Enters events next to each other, in one write.
    pub(crate) fn record_all(&self, events: impl IntoIterator<Item = Event>) -> Result<()> {
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
            return Ok(());
        }
        swarm_fs::append_durable(&path, &lines)?;
        if !self.is_aside {
            for entry in &entries {
                self.store.testify(self.team, &entry.event);
            }
        }
        Ok(())
    }

    pub(crate) fn events_from(&self, from: u64) -> Result<Events> {
        let bytes = read_tail(&self.at.journal(), from)?;
        if bytes.is_none() && !self.exists() {
            return Err(self.not_found());
        }
        Ok(parse_lines(&bytes.unwrap_or_default(), from))
    }

    /// Whether the end of a spawn is in the journal already.
    pub(crate) fn end_is_recorded(&self, spawn: SpawnId) -> Result<bool> {
        let events = self.events_from(0)?;
        Ok(events.entries.iter().any(|entry| match &entry.event {
            Event::MemberDied { spawn_id, .. } | Event::MemberStopped { spawn_id, .. } => {
                *spawn_id == spawn
            }
            _ => false,
        }))
    }
}

/// Everything behind `from`; nothing when the file is shorter. `None` if there is no file.
fn read_tail(path: &Path, from: u64) -> Result<Option<Vec<u8>>> {
    let failed = |source| {
        StoreError::Fs(FsError::Io {
            path: path.to_owned(),
            op: "read",
            source,
        })
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

fn parse_lines(bytes: &[u8], from: u64) -> Events {
    let mut events = Events {
        next: from,
        ..Events::default()
    };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else {
            // Still being written, or left by a killed writer: then the next one ends it.
            break;
        };
        let at = events.next;
        events.next += line.len() as u64;
        if text.is_empty() {
            continue;
        }
        let parsed = std::str::from_utf8(text)
            .map_err(|error| error.to_string())
            .and_then(|text| parse_mended(text).map_err(|error| error.to_string()));
        match parsed {
            Ok(entry) => events.entries.push(entry),
            Err(reason) => events.broken.push(BrokenLine { at, reason }),
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
        let events = parse_lines(text.as_bytes(), 0);
        assert_eq!(events.entries.len(), 3);
        assert_eq!(events.broken.len(), 3);
        assert_eq!(events.broken[0].at, GOOD.len() as u64 + 1);
        assert_eq!(events.next, text.len() as u64);
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_the_next_time() {
        let text = format!("{GOOD}\n{}", &GOOD[..10]);
        let events = parse_lines(text.as_bytes(), 7);
        assert_eq!((events.entries.len(), events.broken.len()), (1, 0));
        assert_eq!(events.next, 7 + GOOD.len() as u64 + 1);
    }

    #[test]
    fn an_event_of_a_later_version_is_no_broken_line() {
        let events = parse_lines(b"{\"at\":1,\"type\":\"from_the_future\",\"x\":1}\n", 0);
        assert_eq!(events.entries[0].event, Event::Unknown);
    }
}
