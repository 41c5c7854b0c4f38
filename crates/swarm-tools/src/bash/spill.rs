//! Output files, for output that is too long for a result or is read while the command runs.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// An output file with a size limit.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    file: Option<File>,
    /// Remaining bytes.
    room: u64,
}

impl Spill {
    /// Prepares an output file without creating it.
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

    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Creates the file.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            swarm_os::ensure_private_dir(directory).map_err(io::Error::other)?;
        }
        self.file = Some(swarm_os::open_for_appending(&self.path).map_err(io::Error::other)?);
        Ok(())
    }

    /// Writes up to the limit, and a notice when the limit is reached.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = self.file.as_mut().filter(|_| self.room > 0) else {
            return Ok(());
        };
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        file.write_all(kept)?;
        self.room -= kept.len() as u64;
        if self.room == 0 {
            file.write_all(b"\n[output truncated: size limit reached]\n")?;
        }
        Ok(())
    }
}
