//! A minimal inbox file: one lock, one JSON array.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Whether changes survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// They may be lost.
    Fast,
    /// They are on disk.
    Durable,
    /// They are on disk, and the inbox is also locked as Claude Code locks it.
    Interoperable,
}

impl Class {
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "durable" => Self::Durable,
            "interoperable" => Self::Interoperable,
            _ => Self::Fast,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Durable => "durable",
            Self::Interoperable => "interoperable",
        }
    }
}

/// Path of an inbox, and of its lock file.
#[derive(Debug, Clone)]
pub(crate) struct BareInbox {
    pub(crate) path: PathBuf,
    pub(crate) lock: PathBuf,
}

impl BareInbox {
    /// Creates an empty inbox in a directory.
    pub(crate) fn create(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)?;
        let inbox = Self {
            path: directory.join("inbox.json"),
            lock: directory.join("lock"),
        };
        fs::write(&inbox.path, "[]")?;
        File::create(&inbox.lock)?;
        Ok(inbox)
    }

    /// Changes the content under the lock; returns the time at which the new content was visible.
    pub(crate) fn change(
        &self,
        class: Class,
        change: impl FnOnce(&mut Vec<Value>),
    ) -> Result<Instant> {
        let lock = File::open(&self.lock).with_context(|| self.lock.display().to_string())?;
        lock.lock()?;
        let directory = self.path.with_added_extension("lock");
        if class == Class::Interoperable {
            fs::create_dir(&directory)?;
        }
        let mut entries = self.read()?;
        change(&mut entries);
        let bytes = serde_json::to_vec_pretty(&entries)?;
        let at = replace(&self.path, &bytes, class)?;
        if class == Class::Interoperable {
            fs::remove_dir(&directory)?;
        }
        lock.unlock()?;
        Ok(at)
    }

    /// Returns the content.
    pub(crate) fn read(&self) -> Result<Vec<Value>> {
        Ok(serde_json::from_slice(&fs::read(&self.path)?)?)
    }

    /// Returns the content, read under the lock.
    pub(crate) fn read_locked(&self) -> Result<Vec<Value>> {
        let lock = File::open(&self.lock)?;
        lock.lock()?;
        let entries = self.read();
        lock.unlock()?;
        entries
    }
}

/// Replaces the content of a file; returns the time right before.
fn replace(path: &Path, bytes: &[u8], class: Class) -> Result<Instant> {
    let directory = path.parent().context("a directory")?;
    let temporary = directory.join(format!(".{}.tmp", std::process::id()));
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    if class != Class::Fast {
        file.sync_data()?;
    }
    let at = Instant::now();
    fs::rename(&temporary, path)?;
    if class != Class::Fast {
        File::open(directory)?.sync_all()?;
    }
    Ok(at)
}

/// Returns a message as written by another program.
pub(crate) fn entry(number: usize) -> Value {
    json!({
        "from": "team-lead",
        "text": format!("Message {number}: please look at the build and tell me what you find. {}", "x".repeat(160)),
        "timestamp": "2026-11-20T17:53:21.411Z",
        "read": false,
        "msg_id": format!("00000000-0000-4000-8000-{number:012}"),
    })
}
