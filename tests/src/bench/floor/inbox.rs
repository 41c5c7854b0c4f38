//! An inbox file without anything around it: one lock, one JSON array.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Whether changes are to outlive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// They may be lost in one.
    Fast,
    /// They are on disk.
    Durable,
}

impl Class {
    pub(crate) fn parse(word: &str) -> Self {
        if word == "durable" {
            Self::Durable
        } else {
            Self::Fast
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Durable => "durable",
        }
    }
}

/// Where an inbox is, and the file that is locked for it.
#[derive(Debug, Clone)]
pub(crate) struct BareInbox {
    pub(crate) path: PathBuf,
    pub(crate) lock: PathBuf,
}

impl BareInbox {
    /// Makes an empty one in a directory.
    ///
    /// # Errors
    /// When a file cannot be made.
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

    /// Changes what is in it, under the lock; tells when the new content came into place.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub(crate) fn change(
        &self,
        class: Class,
        change: impl FnOnce(&mut Vec<Value>),
    ) -> Result<Instant> {
        let lock = File::open(&self.lock).with_context(|| self.lock.display().to_string())?;
        lock.lock()?;
        let mut entries = self.read()?;
        change(&mut entries);
        let bytes = serde_json::to_vec_pretty(&entries)?;
        let at = replace(&self.path, &bytes, class)?;
        lock.unlock()?;
        Ok(at)
    }

    /// What is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(&self) -> Result<Vec<Value>> {
        Ok(serde_json::from_slice(&fs::read(&self.path)?)?)
    }

    /// What is in it, under the lock.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read_locked(&self) -> Result<Vec<Value>> {
        let lock = File::open(&self.lock)?;
        lock.lock()?;
        let entries = self.read();
        lock.unlock()?;
        entries
    }
}

/// Puts new content in place of a file; tells the moment before it is there.
fn replace(path: &Path, bytes: &[u8], class: Class) -> Result<Instant> {
    let directory = path.parent().context("a directory")?;
    let beside = directory.join(format!(".{}.tmp", std::process::id()));
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    if class == Class::Durable {
        file.sync_data()?;
    }
    let at = Instant::now();
    fs::rename(&beside, path)?;
    if class == Class::Durable {
        File::open(directory)?.sync_all()?;
    }
    Ok(at)
}

/// A message as another program would write it.
pub(crate) fn entry(number: usize) -> Value {
    json!({
        "from": "team-lead",
        "text": format!("Message {number}: please look at the build and tell me what you find. {}", "x".repeat(160)),
        "timestamp": "2026-11-20T17:53:21.411Z",
        "read": false,
        "msg_id": format!("00000000-0000-4000-8000-{number:012}"),
    })
}
