//! A secret in a named pipe: it is in no environment and on no disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::contained::not_ours;
use crate::error::OnPath as _;
use crate::{OsError, ensure_private_dir};

/// The size up to which a write to a pipe is atomic.
const PIPE_BUF: usize = 4096;

/// A pipe filled with copies of a secret, one for each reader. Removed when dropped.
///
/// A reader must read [`Self::bytes`] in one call: reads and writes of that size are atomic, so
/// readers never share a copy.
#[derive(Debug)]
pub struct SecretPipe {
    path: PathBuf,
    pipe: File,
    line: Vec<u8>,
}

impl SecretPipe {
    /// Creates the pipe, in place of an earlier one, and its directory.
    ///
    /// # Errors
    /// [`OsError`] if the pipe cannot be created, or the secret is longer than an atomic write.
    pub fn create(path: &Path, secret: &str) -> Result<Self, OsError> {
        let line = format!("{secret}\n").into_bytes();
        if line.len() > PIPE_BUF {
            let why = "a secret for a pipe must be shorter than 4096 bytes";
            return Err(not_ours(path, why));
        }
        if let Some(directory) = path.parent() {
            ensure_private_dir(directory)?;
        }
        fs::remove_file(path).or_none(path, "remove the earlier pipe")?;
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, path, FileType::Fifo, mode, 0).or_gone(path, "create the pipe")?;
        // Open for reading too, so that it neither waits for a reader nor loses what nobody reads.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(path, flags, Mode::empty()).or_gone(path, "open the pipe")?;
        let pipe = Self {
            path: path.to_owned(),
            pipe: pipe.into(),
            line,
        };
        pipe.fill();
        Ok(pipe)
    }

    /// Replaces the copies that were read. A full pipe has hundreds of them.
    pub fn fill(&self) {
        while (&self.pipe).write(&self.line).is_ok() {}
    }

    /// Returns the length of a copy with its newline.
    pub fn bytes(&self) -> usize {
        self.line.len()
    }
}

impl Drop for SecretPipe {
    fn drop(&mut self) {
        // The directory may be gone.
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn every_reader_gets_the_secret_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new/key");
        let pipe = SecretPipe::create(&path, "secret").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert!(metadata.file_type().is_fifo());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        let read = || {
            let mut line = [0; 64];
            let bytes = File::open(&path).unwrap().read(&mut line[..pipe.bytes()]);
            assert_eq!(line[..bytes.unwrap()], *b"secret\n");
        };
        std::thread::scope(|scope| {
            for _reader in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| read()));
            }
        });
        pipe.fill();
        read();
        drop(pipe);
        assert!(!path.exists());
        assert!(SecretPipe::create(&path, &"x".repeat(PIPE_BUF)).is_err());
    }
}
