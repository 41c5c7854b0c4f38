//! Earlier contents of the files that an agent changed, so that they can be restored.
//!
//! A directory has a journal of the changes and the earlier contents, each in a file named after its
//! digest. A change is recorded before it is made.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::{OsError, append_durable, ensure_private_dir, read_optional, replace_alone};
use swarm_protocol::content_digest;

const JOURNAL: &str = "changes.jsonl";

/// Earlier contents of the files that an agent and its sub-agents changed with file tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHistory {
    pub(super) directory: PathBuf,
    pub(super) transcript: PathBuf,
}

/// A line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileChange {
    /// The call that makes the change.
    tool_use_id: String,
    /// The file, with symbolic links resolved.
    pub(super) path: String,
    /// Digest of the content before; `None` if the file did not exist.
    pub(super) before: Option<String>,
    /// Digest of the new content; `None` if the file is removed.
    pub(super) after: Option<String>,
    /// Length of the agent's transcript in bytes at that time: the change belongs to the lines
    /// above.
    transcript_length: u64,
}

impl FileHistory {
    /// The history next to the transcript of a session. Its directory is created when it is needed.
    pub fn of_transcript(transcript: &Path) -> Self {
        Self {
            directory: transcript.with_extension("").join("file-history"),
            transcript: transcript.to_owned(),
        }
    }

    /// Records a change before it is made. Returns once it is on disk.
    pub(crate) fn record(
        &self,
        tool_use_id: &str,
        path: &Path,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<(), OsError> {
        ensure_private_dir(&self.directory)?;
        if let Some(content) = before {
            let kept = self.directory.join(content_digest(content));
            if !kept.is_file() {
                replace_alone(&kept, content)?;
            }
        }
        let change = FileChange {
            tool_use_id: tool_use_id.to_owned(),
            path: path.to_string_lossy().into_owned(),
            before: before.map(content_digest),
            after: after.map(content_digest),
            transcript_length: fs::metadata(&self.transcript).map_or(0, |file| file.len()),
        };
        let journal = self.directory.join(JOURNAL);
        let line = serde_json::to_vec(&change)
            .map_err(|error| OsError::io(&journal, "write as JSON a line of", error))?;
        append_durable(&journal, &line)
    }

    /// Returns the changes since the transcript had `position` bytes, by file, in order of their
    /// first change.
    pub(super) fn changes_since(&self, position: u64) -> Result<Vec<Vec<FileChange>>, OsError> {
        let journal = read_optional(&self.directory.join(JOURNAL))?.unwrap_or_default();
        let lines = journal.split(|byte| *byte == b'\n');
        // A line that a killed process left incomplete belongs to a change that was not made.
        let changes = lines.filter_map(|line| serde_json::from_slice::<FileChange>(line).ok());
        let mut files: Vec<Vec<FileChange>> = Vec::new();
        for change in changes.filter(|change| change.transcript_length > position) {
            match files.iter_mut().find(|file| file[0].path == change.path) {
                Some(file) => file.push(change),
                None => files.push(vec![change]),
            }
        }
        Ok(files)
    }

    /// Returns the content with this digest, if it was kept.
    pub(super) fn kept(&self, digest: &str) -> Result<Option<Vec<u8>>, OsError> {
        let kept = read_optional(&self.directory.join(digest))?;
        Ok(kept.filter(|content| content_digest(content) == digest))
    }
}
