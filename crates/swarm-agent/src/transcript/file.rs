//! The transcript file: read once when it is opened, then only appended to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::{
    OsError, PendingSync, SyncHandle, append, append_durable, left_unsynced, place_private_dir,
    read_optional, replace_alone,
};
use swarm_protocol::{Clock, partial_debug};
use uuid::Uuid;

use super::assemble::Assembler;
use super::entry::{Entry, Rewind};
use super::line::{self, TranscriptAuthor};
use super::rewind::{kept_mail, recorded};
use super::written::{self, Piece};
use crate::AgentError;

/// A line that could not be read when the transcript was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenTranscriptLine {
    /// Line number in the file before the repair, starting at 1.
    pub number: usize,
    /// Parse error.
    pub why: String,
}

/// The transcript of a conversation. Only one process writes it at a time, which its member's life
/// lock guarantees.
///
/// A line counts once it is on disk. No line is written before those above it count, and lines
/// never change. A line that cannot be parsed, such as the last one after a power failure, is moved
/// to `<file>.broken` when the file is opened, and reported.
#[derive(Debug)]
pub struct TranscriptFile {
    path: PathBuf,
    author: TranscriptAuthor,
    clock: Arc<dyn Clock>,
    parent: Option<String>,
    entries: Vec<Entry>,
    broken: Vec<BrokenTranscriptLine>,
    /// Whether a line marks the conversation as a coordinator's.
    coordinator: bool,
    unsynced: Option<UnsyncedLines>,
    /// The new directories of the file, until its first lines are synced.
    new_directories: PendingSync,
    disk: Disk,
}

/// Lines in the file that may not be on disk yet.
#[derive(Debug)]
struct UnsyncedLines {
    sync_handle: SyncHandle,
    /// Id of the line before them.
    parent: Option<String>,
}

/// Waits for appended lines. Tests can replace it.
#[derive(Clone)]
struct Disk(Arc<dyn Fn(PendingSync) -> Result<(), OsError> + Send + Sync>);

partial_debug!(Disk);

impl TranscriptFile {
    /// Opens or creates a transcript; missing directories are created with mode 0700.
    ///
    /// # Errors
    /// [`AgentError::Transcript`] if the file cannot be read or its directory cannot be created.
    /// Broken lines are not an error. The lines of an earlier process count once they are synced,
    /// because a killed process may not have synced them.
    pub fn open(
        path: PathBuf,
        author: TranscriptAuthor,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, AgentError> {
        let mut file = Self {
            path,
            author,
            clock,
            parent: None,
            entries: Vec::new(),
            broken: Vec::new(),
            coordinator: false,
            unsynced: None,
            new_directories: PendingSync::default(),
            disk: Disk(Arc::new(PendingSync::sync)),
        };
        let bytes = file.read().map_err(|source| file.error(source))?;
        file.load(&bytes);
        if !bytes.is_empty() {
            let left = left_unsynced(&file.path).map_err(|source| file.error(source))?;
            file.unsynced = left.map(|left| UnsyncedLines {
                sync_handle: SyncHandle::from(left),
                parent: file.parent.clone(),
            });
        }
        Ok(file)
    }

    /// Replaces the sync, to test turns on a slow or failing disk.
    #[must_use]
    pub fn with_sync(
        mut self,
        wait: impl Fn(PendingSync) -> Result<(), OsError> + Send + Sync + 'static,
    ) -> Self {
        self.disk = Disk(Arc::new(wait));
        self
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the author of new lines.
    pub fn author(&self) -> &TranscriptAuthor {
        &self.author
    }

    /// Returns the lines that could not be parsed when the file was opened.
    pub fn broken(&self) -> &[BrokenTranscriptLine] {
        &self.broken
    }

    /// Marks the conversation as a coordinator's, unless it is marked already. Returns once the
    /// mark is on disk.
    ///
    /// # Errors
    /// [`AgentError::Transcript`] if the file cannot be written.
    pub fn mark_coordinator(&mut self) -> Result<(), AgentError> {
        if self.coordinator {
            return Ok(());
        }
        self.sync()?;
        let line = written::coordinator(&self.author).map_err(|error| self.not_json(error))?;
        let appended = append(&self.path, &line).map_err(|source| self.error(source))?;
        let appended = appended.and(std::mem::take(&mut self.new_directories));
        (self.disk.0)(appended).map_err(|source| self.error(source))?;
        self.coordinator = true;
        Ok(())
    }

    pub(crate) fn set_author(&mut self, author: TranscriptAuthor) {
        self.author = author;
    }

    /// Returns the entries that were in the file when it was opened; empty the second time.
    pub(crate) fn take_entries(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Appends one line and returns once it is on disk.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), AgentError> {
        self.append_all(std::slice::from_ref(entry))
    }

    /// Appends lines in one write and returns once they are on disk.
    pub(crate) fn append_all(&mut self, entries: &[Entry]) -> Result<(), AgentError> {
        self.begin(entries)?;
        self.sync()
    }

    /// Returns the conversation to the state before a line: appends a line that says so. Returns the
    /// entries of the conversation from then on.
    pub(crate) fn rewind(&mut self, to: &str) -> Result<Vec<Entry>, AgentError> {
        let bytes = self.read().map_err(|source| self.error(source))?;
        let mut entries = recorded(&bytes, self.author.sub_agent.as_ref());
        let at = (entries.iter()).position(|one| one.line.as_deref() == Some(to));
        let Some(at) = at else {
            return Err(AgentError::NotRewound(to.to_owned()));
        };
        let parent = entries[at].parent.clone();
        let dropped: Vec<Entry> = entries.drain(at..).map(|one| one.entry).collect();
        let rewind = Entry::Rewound(Rewind {
            to: to.to_owned(),
            parent,
            mail: kept_mail(&dropped),
            dropped,
        });
        self.append(&rewind)?;
        let kept = entries.into_iter().map(|one| one.entry);
        Ok(kept.chain([rewind]).collect())
    }

    /// Appends lines in one write. Readers see them immediately; they count once they are synced.
    pub(crate) fn begin(&mut self, entries: &[Entry]) -> Result<(), AgentError> {
        self.sync()?;
        let mut lines = Vec::new();
        let mut parent = self.parent.clone();
        for entry in entries {
            if let Entry::Rewound(rewind) = entry {
                parent.clone_from(&rewind.parent);
            }
            for piece in written::pieces(entry) {
                if !lines.is_empty() {
                    lines.push(b'\n');
                }
                let (line, uuid) = self.line(piece, parent.as_deref())?;
                lines.extend(line);
                parent = Some(uuid);
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let appended = append(&self.path, &lines).map_err(|source| self.error(source))?;
        let appended = appended.and(std::mem::take(&mut self.new_directories));
        let disk = self.disk.clone();
        self.unsynced = Some(UnsyncedLines {
            sync_handle: SyncHandle::by(move || (disk.0)(appended)),
            parent: std::mem::replace(&mut self.parent, parent),
        });
        Ok(())
    }

    /// Waits until the appended lines are on disk.
    pub(crate) fn sync(&mut self) -> Result<(), AgentError> {
        let Some(unsynced) = self.unsynced.take() else {
            return Ok(());
        };
        unsynced.sync_handle.wait().map_err(|source| {
            self.parent = unsynced.parent;
            self.error(source)
        })
    }

    pub(crate) fn sync_handle(&self) -> Option<SyncHandle> {
        self.unsynced
            .as_ref()
            .map(|unsynced| unsynced.sync_handle.clone())
    }

    /// Returns a line after `parent`, and its id.
    fn line(
        &self,
        piece: Piece<'_>,
        parent: Option<&str>,
    ) -> Result<(Vec<u8>, String), AgentError> {
        let uuid = Uuid::new_v4().to_string();
        let timestamp = self.clock.now().iso().to_string();
        let line = written::render(piece, &self.author, &uuid, parent, timestamp)
            .map_err(|error| self.not_json(error))?;
        Ok((line, uuid))
    }

    fn not_json(&self, error: serde_json::Error) -> AgentError {
        self.error(OsError::io(&self.path, "write as JSON a line of", error))
    }

    fn read(&mut self) -> Result<Vec<u8>, OsError> {
        if let Some(directory) = self.path.parent() {
            self.new_directories = place_private_dir(directory)?;
        }
        Ok(read_optional(&self.path)?.unwrap_or_default())
    }

    fn load(&mut self, bytes: &[u8]) {
        let (mut sound, mut unsound) = (Vec::with_capacity(bytes.len()), Vec::new());
        let mut assembler = Assembler::default();
        for (index, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let kept = match line::parse(text, self.author.sub_agent.as_ref()) {
                Ok(parsed) => {
                    self.parent = parsed.uuid.clone().or(self.parent.take());
                    self.coordinator |= parsed.coordinator;
                    if let Some(part) = parsed.part {
                        assembler.take(part, parsed.uuid, parsed.parent);
                    }
                    &mut sound
                }
                Err(error) => {
                    self.broken.push(BrokenTranscriptLine {
                        number: index + 1,
                        why: error.to_string(),
                    });
                    &mut unsound
                }
            };
            kept.extend_from_slice(text);
            kept.push(b'\n');
        }
        self.entries = assembler.finish();
        if !unsound.is_empty() {
            self.quarantine(&sound, &unsound);
        }
    }

    /// Moves broken lines out of the file. If that fails, the file is left unchanged and the next
    /// opening skips the same lines.
    fn quarantine(&self, sound: &[u8], unsound: &[u8]) {
        let mut aside = self.path.clone().into_os_string();
        aside.push(".broken");
        let moved = append_durable(Path::new(&aside), unsound)
            .and_then(|()| replace_alone(&self.path, sound));
        let session = self.author.session;
        let lines = self.broken.len();
        match moved {
            Ok(()) => tracing::warn!(%session, lines, "moved broken lines out of the transcript"),
            Err(error) => {
                tracing::warn!(%session, lines, %error, "cannot move broken lines out of the transcript");
            }
        }
    }

    fn error(&self, source: OsError) -> AgentError {
        AgentError::Transcript {
            path: self.path.clone(),
            source,
        }
    }
}
