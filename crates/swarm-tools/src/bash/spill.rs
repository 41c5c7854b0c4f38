//! Output in a file, where it is too long for a result or is read while the command runs.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file that gets an output up to a limit.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    file: Option<File>,
    /// Bytes that may still be written.
    room: u64,
}

impl Spill {
    /// Nothing is made on disk before the first write.
    pub(super) fn new(path: PathBuf, limit: u64) -> Self {
        Self {
            path,
            file: None,
            room: limit,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a file.
    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Makes the file.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            swarm_os::ensure_private_dir(directory).map_err(io::Error::other)?;
        }
        self.file = Some(swarm_os::open_for_appending(&self.path).map_err(io::Error::other)?);
        Ok(())
    }

    /// Writes what there is room for, and at the limit a line that says so.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = self.file.as_mut().filter(|_| self.room > 0) else {
            return Ok(());
        };
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        file.write_all(kept)?;
        self.room -= kept.len() as u64;
        if self.room == 0 {
            file.write_all(b"\n[the output is longer; the rest was not kept]\n")?;
        }
        Ok(())
    }
}
