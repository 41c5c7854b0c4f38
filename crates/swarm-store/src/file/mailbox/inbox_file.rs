//! An inbox file while its lock is held. Unchanged entries are not parsed and are written back byte
//! for byte.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use swarm_os::{LockGuard, Original, PendingSync};
use swarm_protocol::{
    Event, InboxEntry, MemberName, MessageId, Outline, OutlinedInbox, parse_repaired,
};

use crate::file::record;
use crate::file::team::{FileTeam, refuse_linked_directory};
use crate::{Draft, Result, StoreError};

/// Start of the file, separator between entries, and end of the file. The first two have equal
/// length.
const OPENING: &str = "[\n  ";
const SEPARATOR: &str = ",\n  ";
const CLOSING: &str = "\n]";

/// An entry of an inbox.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// Whether it is acknowledged.
    pub(super) read: bool,
    json: Json,
}

/// The text of an entry.
#[derive(Debug, Clone)]
enum Json {
    /// A range of the original file.
    Kept(std::ops::Range<usize>),
    New(String),
}

impl Slot {
    fn new(path: &Path, entry: &InboxEntry) -> Result<Self> {
        // Line breaks in an indented document are all layout: inside strings they are escaped.
        let json = serde_json::to_string_pretty(entry)
            .map_err(|source| record::unwritable(path, source))?
            .replace('\n', "\n  ");
        Ok(Self {
            read: entry.read,
            json: Json::New(json),
        })
    }

    /// Returns its size in the file, in bytes.
    pub(super) fn size(&self) -> usize {
        let json = match &self.json {
            Json::Kept(place) => place.len(),
            Json::New(json) => json.len(),
        };
        json + SEPARATOR.len()
    }

    fn kept(found: Outline) -> Self {
        Self {
            read: found.read,
            json: Json::Kept(found.place),
        }
    }
}

/// An inbox that is changed and written back.
#[derive(Debug)]
pub(super) struct InboxFile {
    path: PathBuf,
    /// The file with the original content.
    original: Original,
    /// The original content.
    text: String,
    pub(super) slots: Vec<Slot>,
    /// Path of the backup, if the original content was not an inbox.
    pub(super) quarantine: Option<PathBuf>,
}

/// Parsed content of an inbox file.
enum Content {
    Sound(OutlinedInbox),
    /// An array in a non-standard layout, with its malformed elements and the reason for each.
    Array(Vec<Slot>, Vec<(String, String)>),
    /// Not an array, with the reason.
    Damaged(String),
}

/// Separates entries from malformed elements. An empty file counts as an empty array, since Claude
/// Code creates the file before it fills it.
fn parse(bytes: Vec<u8>, earlier: OutlinedInbox) -> Content {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Content::Sound(OutlinedInbox::default());
    }
    let bytes = match OutlinedInbox::find(bytes, earlier) {
        Ok(found) => return Content::Sound(found),
        Err(bytes) => bytes,
    };
    let elements: Vec<Box<RawValue>> = match serde_json::from_slice(&bytes) {
        Ok(elements) => elements,
        Err(error) => return Content::Damaged(error.to_string()),
    };
    let mut slots = Vec::with_capacity(elements.len());
    let mut malformed = Vec::new();
    for raw in elements {
        match parse_repaired::<InboxEntry>(raw.get()) {
            Ok(entry) => slots.push(Slot {
                read: entry.read,
                json: Json::New(raw.get().to_owned()),
            }),
            Err(error) => malformed.push((raw.get().to_owned(), error.to_string())),
        }
    }
    Content::Array(slots, malformed)
}

impl InboxFile {
    /// Reads an inbox under its lock. Malformed elements, and a file that is not an inbox, are
    /// moved aside and recorded in the journal first.
    pub(super) fn open(files: &FileTeam, name: &MemberName, held: &LockGuard) -> Result<Self> {
        let path = files.at.inbox(name);
        let (bytes, original) = Original::read(&path)?;
        let mut inbox = Self {
            text: String::new(),
            slots: Vec::new(),
            quarantine: None,
            path,
            original,
        };
        let earlier = files.store.last_inbox.take(&inbox.path);
        match parse(bytes.unwrap_or_default(), earlier) {
            Content::Sound(found) => {
                inbox.text = found.text;
                inbox.slots = found.entries.into_iter().map(Slot::kept).collect();
                Ok(inbox)
            }
            Content::Array(slots, malformed) => {
                inbox.slots = slots;
                if !malformed.is_empty() {
                    inbox.set_elements_aside(files, name, held, &malformed)?;
                }
                Ok(inbox)
            }
            Content::Damaged(reason) => inbox.begin_anew(files, name, held, &reason),
        }
    }

    /// Renames a damaged file to keep it. The first message of the new inbox tells its owner,
    /// because unread messages are lost.
    fn begin_anew(
        mut self,
        files: &FileTeam,
        name: &MemberName,
        held: &LockGuard,
        reason: &str,
    ) -> Result<Self> {
        let kept = files.set_aside(&self.path, Some(name), reason.to_owned())?;
        let text = format!(
            "Your inbox was damaged ({reason}) and is kept as {}. What waited in it has not reached you: if you expect \
             a message, ask its sender for it again.",
            kept.display()
        );
        let notice = Draft::system(text).with_summary("your inbox was damaged");
        self.push(&notice.into_entry(MessageId::random(), files.now()))?;
        self.original = Original::default();
        held.replace(&self.path, self.written().text.as_bytes())?;
        self.quarantine = Some(kept);
        Ok(self)
    }

    /// Keeps malformed elements in an archive and takes them out of the file. If the process is
    /// killed in between, they are in both.
    fn set_elements_aside(
        &self,
        files: &FileTeam,
        name: &MemberName,
        held: &LockGuard,
        malformed: &[(String, String)],
    ) -> Result<()> {
        let archive = files.at.malformed_archive(name);
        let mut lines = Vec::new();
        for (json, reason) in malformed {
            let kept = serde_json::json!({
                "at": files.now(), "reason": reason, "element": json,
            });
            lines.extend(record::line(&archive, &kept)?);
            lines.push(b'\n');
        }
        refuse_linked_directory(&archive)?;
        held.append(&archive, &lines)?;
        held.replace(&self.path, self.written().text.as_bytes())?;
        tracing::warn!(team = %files.team, member = %name, count = malformed.len(), "malformed mail set aside");
        files.record_done([Event::MalformedMail {
            to: name.clone(),
            count: malformed.len(),
            kept: archive.display().to_string(),
        }]);
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn push(&mut self, entry: &InboxEntry) -> Result<()> {
        self.slots.push(Slot::new(&self.path, entry)?);
        Ok(())
    }

    /// Parses the entry of a slot.
    pub(super) fn entry(&self, slot: &Slot) -> Result<InboxEntry> {
        parse_repaired(self.json(slot)).map_err(|error| StoreError::Damaged {
            path: self.path.clone(),
            reason: error.to_string(),
        })
    }

    fn json<'a>(&'a self, slot: &'a Slot) -> &'a str {
        match &slot.json {
            Json::Kept(place) => &self.text[place.clone()],
            Json::New(json) => json,
        }
    }

    /// Applies `change` to the unread entries; returns how many it changed.
    pub(super) fn edit_unread(
        &mut self,
        mut change: impl FnMut(&mut InboxEntry) -> bool,
    ) -> Result<usize> {
        let mut changed = 0;
        for at in 0..self.slots.len() {
            if self.slots[at].read {
                continue;
            }
            let mut entry = self.entry(&self.slots[at])?;
            if change(&mut entry) {
                self.slots[at] = Slot::new(&self.path, &entry)?;
                changed += 1;
            }
        }
        Ok(changed)
    }

    /// Removes the entries for which `goes` returns true; `acked` includes acknowledged entries.
    pub(super) fn take_out(
        &mut self,
        acked: bool,
        mut goes: impl FnMut(&InboxEntry) -> bool,
    ) -> Result<Vec<InboxEntry>> {
        let mut taken = Vec::new();
        let mut kept = Vec::with_capacity(self.slots.len());
        for slot in std::mem::take(&mut self.slots) {
            if acked || !slot.read {
                let entry = self.entry(&slot)?;
                if goes(&entry) {
                    taken.push(entry);
                    continue;
                }
            }
            kept.push(slot);
        }
        self.slots = kept;
        Ok(taken)
    }

    /// Returns whether an entry has this ID.
    pub(super) fn has(&self, id: Option<&MessageId>) -> Result<bool> {
        for slot in &self.slots {
            if self.entry(slot)?.msg_id.as_ref() == id {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn unread(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| !slot.read)
    }

    /// Returns the size of the file if written now, in bytes.
    pub(super) fn size(&self) -> usize {
        let entries = self.slots.iter().map(Slot::size);
        entries.sum::<usize>() + CLOSING.len()
    }

    /// Returns the new content of the file. Entries before the first change keep their positions.
    fn written(&self) -> OutlinedInbox {
        if self.slots.is_empty() {
            return OutlinedInbox {
                text: "[]".to_owned(),
                entries: Vec::new(),
            };
        }
        let mut entries = self.in_place();
        let mut rest = String::new();
        let begins = entries.last().map_or(0, |last| last.place.end);
        for slot in &self.slots[entries.len()..] {
            rest.push_str(if entries.is_empty() {
                OPENING
            } else {
                SEPARATOR
            });
            let at = begins + rest.len();
            rest.push_str(self.json(slot));
            entries.push(Outline {
                place: at..begins + rest.len(),
                read: slot.read,
            });
        }
        rest.push_str(CLOSING);
        let text = [&self.text[..begins], &rest].concat();
        OutlinedInbox { text, entries }
    }

    /// Returns the leading entries whose positions and layout do not change.
    fn in_place(&self) -> Vec<Outline> {
        let mut entries: Vec<Outline> = Vec::with_capacity(self.slots.len());
        let mut end = 0;
        for slot in &self.slots {
            let Json::Kept(place) = &slot.json else { break };
            let before = if end == 0 { OPENING } else { SEPARATOR };
            if self.text.get(end..place.start) != Some(before) {
                break;
            }
            end = place.end;
            entries.push(Outline {
                place: place.clone(),
                read: slot.read,
            });
        }
        entries
    }

    /// Moves old acknowledged entries to the archive and writes the rest.
    pub(super) fn write(self, files: &FileTeam, name: &MemberName, held: &LockGuard) -> Result<()> {
        Ok(self.place(files, name, held)?.sync()?)
    }

    /// Like [`Self::write`], without the final wait for the disk.
    pub(super) fn place(
        mut self,
        files: &FileTeam,
        name: &MemberName,
        held: &LockGuard,
    ) -> Result<PendingSync> {
        self.prune(files, name, held)?;
        let written = self.written();
        let pending = held.place_over(self.original, &self.path, written.text.as_bytes())?;
        files.store.last_inbox.keep(self.path, written);
        Ok(pending)
    }
}

impl From<BadInbox> for StoreError {
    fn from(bad: BadInbox) -> Self {
        Self::Damaged {
            path: bad.path,
            reason: bad.reason,
        }
    }
}

/// An inbox that is not a JSON array, found by a reader.
#[derive(Debug)]
pub(super) struct BadInbox {
    pub(super) path: PathBuf,
    pub(super) reason: String,
}
