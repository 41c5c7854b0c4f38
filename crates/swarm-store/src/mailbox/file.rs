//! An inbox file as its lock holder sees it. Entries that nobody touches are written back byte by byte.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use swarm_fs::{Held, Unsettled};
use swarm_protocol::{Event, InboxEntry, MemberName, MessageId, parse_mended};

use super::Draft;
use crate::team_files::{TeamFiles, refuse_linked_folder};
use crate::{Result, StoreError, record};

/// An entry and its JSON text.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    entry: InboxEntry,
    json: String,
}

impl Slot {
    pub(super) fn new(path: &Path, entry: InboxEntry) -> Result<Self> {
        // Line breaks in an indented document are all layout: inside strings they are escaped.
        let json = serde_json::to_string_pretty(&entry)
            .map_err(|source| record::unwritable(path, source))?
            .replace('\n', "\n  ");
        Ok(Self { entry, json })
    }

    pub(super) fn entry(&self) -> &InboxEntry {
        &self.entry
    }
}

/// A whole inbox, to be changed and written back.
#[derive(Debug)]
pub(super) struct InboxFile {
    path: PathBuf,
    pub(super) slots: Vec<Slot>,
    /// Where it is kept as it was found, if that was no inbox.
    pub(super) set_aside: Option<PathBuf>,
}

/// What an inbox file holds.
pub(super) enum Content {
    /// An array; the strings are elements of it that are no entries, with the reason.
    Array(Vec<Slot>, Vec<(String, String)>),
    /// Something else, with the reason.
    Damaged(String),
}

/// Tells entries from what is none. An empty file counts as an empty array, since Claude Code makes the file
/// before it fills it.
pub(super) fn parse(bytes: &[u8]) -> Content {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Content::Array(Vec::new(), Vec::new());
    }
    let elements: Vec<Box<RawValue>> = match serde_json::from_slice(bytes) {
        Ok(elements) => elements,
        Err(error) => return Content::Damaged(error.to_string()),
    };
    let mut slots = Vec::with_capacity(elements.len());
    let mut malformed = Vec::new();
    for raw in elements {
        match parse_mended(raw.get()) {
            Ok(entry) => slots.push(Slot {
                entry,
                json: raw.get().to_owned(),
            }),
            Err(error) => malformed.push((raw.get().to_owned(), error.to_string())),
        }
    }
    Content::Array(slots, malformed)
}

impl InboxFile {
    /// Reads an inbox under its lock. What is no entry is set aside first and entered in the journal, and so is a
    /// file that is no inbox at all.
    pub(super) fn open(files: &TeamFiles<'_>, name: &MemberName, held: &Held) -> Result<Self> {
        let path = files.at.inbox(name);
        let bytes = swarm_fs::read_optional(&path)?.unwrap_or_default();
        let of = |slots| Self {
            path: path.clone(),
            slots,
            set_aside: None,
        };
        match parse(&bytes) {
            Content::Array(slots, malformed) => {
                let inbox = of(slots);
                if !malformed.is_empty() {
                    inbox.set_elements_aside(files, name, held, &malformed)?;
                }
                Ok(inbox)
            }
            Content::Damaged(reason) => of(Vec::new()).begin_anew(files, name, held, &reason),
        }
    }

    /// Keeps a damaged file under another name. Its owner is told by the first message of the next one, since what
    /// stood in it unread is lost to it.
    fn begin_anew(
        mut self,
        files: &TeamFiles<'_>,
        name: &MemberName,
        held: &Held,
        reason: &str,
    ) -> Result<Self> {
        let kept = swarm_fs::set_aside(&self.path)?;
        tracing::warn!(team = %files.team, member = %name, kept = %kept.display(), "damaged inbox set aside");
        files.record_done([Event::FileDamaged {
            file: self.path.display().to_string(),
            kept: kept.display().to_string(),
            reason: reason.to_owned(),
        }]);
        let text = format!(
            "Your inbox was damaged ({reason}) and is kept as {}. What waited in it has not reached you: if you expect \
             a message, ask its sender for it again.",
            kept.display()
        );
        let notice = Draft::system(text).with_summary("your inbox was damaged");
        self.push(notice.into_entry(MessageId::random(), files.now()))?;
        held.replace(&self.path, &self.to_bytes())?;
        self.set_aside = Some(kept);
        Ok(self)
    }

    /// Keeps malformed elements in an archive and takes them out of the file. Killed in between, they are in
    /// both, never in none.
    fn set_elements_aside(
        &self,
        files: &TeamFiles<'_>,
        name: &MemberName,
        held: &Held,
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
        refuse_linked_folder(&archive)?;
        held.append(&archive, &lines)?;
        held.replace(&self.path, &self.to_bytes())?;
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

    pub(super) fn push(&mut self, entry: InboxEntry) -> Result<()> {
        self.slots.push(Slot::new(&self.path, entry)?);
        Ok(())
    }

    /// Changes the entries that `change` says it has changed; tells how many.
    pub(super) fn edit(
        &mut self,
        mut change: impl FnMut(&mut InboxEntry) -> bool,
    ) -> Result<usize> {
        let mut changed = 0;
        for slot in &mut self.slots {
            if change(&mut slot.entry) {
                *slot = Slot::new(&self.path, slot.entry.clone())?;
                changed += 1;
            }
        }
        Ok(changed)
    }

    pub(super) fn unread(&self) -> impl Iterator<Item = &InboxEntry> {
        self.slots
            .iter()
            .map(Slot::entry)
            .filter(|entry| !entry.read)
    }

    /// The size of the file, were it written like this.
    pub(super) fn size(&self) -> usize {
        let around = "[\n\n]".len();
        around + self.slots.iter().map(Self::size_of).sum::<usize>()
    }

    /// What one entry takes up in the file.
    pub(super) fn size_of(slot: &Slot) -> usize {
        slot.json.len() + ",\n  ".len()
    }

    fn to_bytes(&self) -> Vec<u8> {
        if self.slots.is_empty() {
            return b"[]".to_vec();
        }
        let mut bytes = Vec::with_capacity(self.size());
        for (index, slot) in self.slots.iter().enumerate() {
            bytes.extend_from_slice(if index == 0 { b"[\n  " } else { b",\n  " });
            bytes.extend_from_slice(slot.json.as_bytes());
        }
        bytes.extend_from_slice(b"\n]");
        bytes
    }

    /// Moves old acknowledged entries to the archive and writes the rest.
    pub(super) fn write(self, files: &TeamFiles<'_>, name: &MemberName, held: &Held) -> Result<()> {
        Ok(self.place(files, name, held)?.settle()?)
    }

    /// The same without the last wait for the disk.
    pub(super) fn place(
        mut self,
        files: &TeamFiles<'_>,
        name: &MemberName,
        held: &Held,
    ) -> Result<Unsettled> {
        self.prune(files, name, held)?;
        Ok(held.place(&self.path, &self.to_bytes())?)
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

/// An inbox that is no JSON array, found by a reader.
#[derive(Debug)]
pub(super) struct BadInbox {
    pub(super) path: PathBuf,
    pub(super) reason: String,
}
