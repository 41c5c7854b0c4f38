//! A secret in a named pipe: it is in no environment and on no disk.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::OsError;

/// The size up to which a write to a pipe is atomic.
const PIPE_BUF: usize = 4096;

/// A pipe from which each process of the user that opens it reads the secret. Removed when dropped.
///
/// A reader must read exactly [`Self::bytes`] at once. Writes and reads of that size are atomic, so
/// readers do not share a secret even if several of them read from the same pipe.
#[derive(Debug)]
pub struct SecretPipe {
    path: PathBuf,
    bytes: usize,
    is_over: Arc<AtomicBool>,
}

impl SecretPipe {
    /// Creates the pipe, in place of an earlier one, and writes the secret to each reader.
    ///
    /// # Errors
    /// [`OsError`] if the pipe cannot be created, or the secret is longer than an atomic write.
    pub fn serve(path: &Path, secret: &str) -> Result<Self, OsError> {
        let line = format!("{secret}\n");
        if line.len() > PIPE_BUF {
            let why = "a secret for a pipe must be shorter than 4096 bytes";
            let path = path.to_owned();
            return Err(OsError::NotOurs { path, why });
        }
        if let Err(error) = fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(OsError::gone_or_io(path, "remove the earlier pipe", error));
        }
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, path, FileType::Fifo, mode, 0)
            .map_err(|error| OsError::gone_or_io(path, "create the pipe", error))?;
        let pipe = Self {
            path: path.to_owned(),
            bytes: line.len(),
            is_over: Arc::default(),
        };
        let (path, is_over) = (pipe.path.clone(), Arc::clone(&pipe.is_over));
        std::thread::spawn(move || {
            // Waits for a reader. Fails once the pipe is removed.
            while let Ok(mut reader) = OpenOptions::new().write(true).open(&path) {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                // The reader may have gone.
                reader.write_all(line.as_bytes()).ok();
            }
        });
        Ok(pipe)
    }

    /// Returns the length of the secret with its newline.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for SecretPipe {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // A last reader ends the wait of the thread.
        let reader = rustix::fs::open(&self.path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
        fs::remove_file(&self.path).ok();
        drop(reader);
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
        let path = place.path().join("key");
        let pipe = SecretPipe::serve(&path, "secret").unwrap();
        let mode = fs::metadata(&path).unwrap();
        assert!(mode.file_type().is_fifo());
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let read = || {
            let mut line = vec![0; pipe.bytes()];
            fs::File::open(&path)
                .unwrap()
                .read_exact(&mut line)
                .unwrap();
            assert_eq!(line, b"secret\n");
        };
        std::thread::scope(|scope| {
            for _reader in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| read()));
            }
        });
        let again = SecretPipe::serve(&path, "other").unwrap();
        drop(pipe);
        drop(again);
        assert!(!path.exists());
    }
}
