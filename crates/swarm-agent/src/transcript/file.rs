//! The file: read once when it is opened, then only appended to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::{
    OsError, PendingSync, SyncHandle, append, append_durable, left_unsynced, place_private_dir,
    read_optional, replace_alone,
};
use swarm_protocol::Clock;
use uuid::Uuid;

use super::assemble::Assembler;
use super::entry::Entry;
use super::line::{self, Piece, TranscriptAuthor};
use crate::AgentError;

/// A line that could not be read when the transcript was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenTranscriptLine {
    /// Its number in the file as it was found, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub why: String,
}

/// The transcript of one conversation. One process writes it at a time; its owner's life lock sees to that.
///
/// A line counts once it is on disk, and no line is written before those above it count; it stays as it is for ever. A line that cannot be read, such as the last one
/// after a power cut, is moved to `<file>.broken` when the file is opened, and reported.
#[derive(Debug)]
pub struct TranscriptFile {
    path: PathBuf,
    author: TranscriptAuthor,
    clock: Arc<dyn Clock>,
    parent: Option<String>,
    entries: Vec<Entry>,
    broken: Vec<BrokenTranscriptLine>,
    /// Whether a line says that the conversation is a coordinator's.
    coordinator: bool,
    begun: Option<Begun>,
    /// The directories that were made for it, until its first lines are waited for.
    made: PendingSync,
    disk: Disk,
}

/// Lines that are in the file and perhaps not yet on disk.
#[derive(Debug)]
struct Begun {
    sync_handle: SyncHandle,
    /// What the lines stand behind.
    parent: Option<String>,
}

/// How lines are waited for that were appended: as the disk does it, unless a test has one of its own.
#[derive(Clone)]
struct Disk(Arc<dyn Fn(PendingSync) -> Result<(), OsError> + Send + Sync>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").finish_non_exhaustive()
    }
}

impl TranscriptFile {
    /// Opens a transcript, or begins one; missing directories around it are made with mode 0700.
    ///
    /// # Errors
    /// [`AgentError::Transcript`] when the file cannot be read or its directory cannot be made. Broken lines are no
    /// error. What was found counts once it is waited for: a process that was killed may not have done so.
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
            begun: None,
            made: PendingSync::default(),
            disk: Disk(Arc::new(PendingSync::sync)),
        };
        let bytes = file.read().map_err(|source| file.error(source))?;
        file.load(&bytes);
        if !bytes.is_empty() {
            let left = left_unsynced(&file.path).map_err(|source| file.error(source))?;
            file.begun = left.map(|left| Begun {
                sync_handle: SyncHandle::from(left),
                parent: file.parent.clone(),
            });
        }
        Ok(file)
    }

    /// The same file on a disk that is waited for in another way: how a turn bears a slow or a failing one is tried with
    /// that.
    #[must_use]
    pub fn on_disk_of(
        mut self,
        wait: impl Fn(PendingSync) -> Result<(), OsError> + Send + Sync + 'static,
    ) -> Self {
        self.disk = Disk(Arc::new(wait));
        self
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who writes it.
    pub fn author(&self) -> &TranscriptAuthor {
        &self.author
    }

    /// The lines that could not be read when it was opened.
    pub fn broken(&self) -> &[BrokenTranscriptLine] {
        &self.broken
    }

    /// Records that the conversation is a coordinator's, unless it is recorded. Returns once it is on disk.
    ///
    /// # Errors
    /// [`AgentError::Transcript`] when the file cannot be written.
    pub fn mark_coordinator(&mut self) -> Result<(), AgentError> {
        if self.coordinator {
            return Ok(());
        }
        self.sync()?;
        let line = line::coordinator(&self.author).map_err(|error| self.not_json(error))?;
        let appended = append(&self.path, &line).map_err(|source| self.error(source))?;
        let appended = appended.and(std::mem::take(&mut self.made));
        (self.disk.0)(appended).map_err(|source| self.error(source))?;
        self.coordinator = true;
        Ok(())
    }

    /// Changes what stands on the lines to come.
    pub(crate) fn set_author(&mut self, author: TranscriptAuthor) {
        self.author = author;
    }

    /// What was in the file when it was opened; empty the second time.
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

    /// Appends lines in one write, for every reader to see. They count once they are waited for.
    pub(crate) fn begin(&mut self, entries: &[Entry]) -> Result<(), AgentError> {
        self.sync()?;
        let mut lines = Vec::new();
        let mut parent = self.parent.clone();
        for entry in entries {
            for piece in line::pieces(entry) {
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
        let appended = appended.and(std::mem::take(&mut self.made));
        let disk = self.disk.clone();
        self.begun = Some(Begun {
            sync_handle: SyncHandle::by(move || (disk.0)(appended)),
            parent: std::mem::replace(&mut self.parent, parent),
        });
        Ok(())
    }

    /// Waits for the lines that were begun; nothing where there are none.
    pub(crate) fn sync(&mut self) -> Result<(), AgentError> {
        let Some(begun) = self.begun.take() else {
            return Ok(());
        };
        begun.sync_handle.wait().map_err(|source| {
            self.parent = begun.parent;
            self.error(source)
        })
    }

    /// The wait for the lines that were begun, for somebody who wants to know of its end.
    pub(crate) fn sync_handle(&self) -> Option<SyncHandle> {
        self.begun.as_ref().map(|begun| begun.sync_handle.clone())
    }

    /// A line behind `parent`, and its id.
    fn line(
        &self,
        piece: Piece<'_>,
        parent: Option<&str>,
    ) -> Result<(Vec<u8>, String), AgentError> {
        let uuid = Uuid::new_v4().to_string();
        let timestamp = self.clock.now().iso().to_string();
        let line = line::render(piece, &self.author, &uuid, parent, timestamp)
            .map_err(|error| self.not_json(error))?;
        Ok((line, uuid))
    }

    fn not_json(&self, error: serde_json::Error) -> AgentError {
        self.error(OsError::Io {
            path: self.path.clone(),
            op: "write as JSON a line of",
            source: error.into(),
        })
    }

    fn read(&mut self) -> Result<Vec<u8>, OsError> {
        if let Some(directory) = self.path.parent() {
            self.made = place_private_dir(directory)?;
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
                    self.parent = parsed.uuid.or(self.parent.take());
                    self.coordinator |= parsed.coordinator;
                    if let Some(part) = parsed.part {
                        assembler.take(part);
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

    /// Moves what cannot be read out of the file. When that fails the file stays as it is, and the next opening
    /// skips the same lines.
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
                tracing::warn!(%session, lines, %error, "broken lines stay in the transcript");
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
