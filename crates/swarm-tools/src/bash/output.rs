//! Output of a running command.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use super::capture::Capture;

/// The output of a command. A separate task reads it to its end, possibly long after the call:
/// background processes would receive SIGPIPE if the pipe were closed.
#[derive(Debug)]
pub(super) struct Output {
    kept: Arc<Mutex<BufferedOutput>>,
    file: Option<PathBuf>,
    closed: watch::Receiver<bool>,
}

#[derive(Debug)]
struct BufferedOutput {
    capture: Capture,
    /// Output since the last read, for a command that is read while it runs.
    unread: Option<Capture>,
    spill: Option<Spill>,
}

impl BufferedOutput {
    fn add(&mut self, bytes: &[u8]) {
        if let Some(spill) = &mut self.spill
            && let Err(error) = write_to(spill, &self.capture, bytes)
        {
            tracing::warn!(%error, path = %spill.path().display(), "cannot write the output file");
            self.spill = None;
        }
        self.capture.add(bytes);
        if let Some(unread) = &mut self.unread {
            unread.add(bytes);
        }
    }
}

/// Writes output to the file. The file is created once the buffer is full, and starts with the
/// buffered output.
fn write_to(spill: &mut Spill, capture: &Capture, bytes: &[u8]) -> std::io::Result<()> {
    if !spill.is_begun() {
        if capture.has_room_for(bytes.len()) {
            return Ok(());
        }
        spill.begin()?;
        spill.write(&capture.bytes())?;
    }
    spill.write(bytes)
}

impl Output {
    pub(super) fn read(
        reader: std::io::PipeReader,
        chars: usize,
        spill: Option<Spill>,
        live: bool,
    ) -> Result<Self, String> {
        let mut receiver = Receiver::from_owned_fd(OwnedFd::from(reader))
            .map_err(|error| format!("Cannot read the output: {error}."))?;
        let file = spill.as_ref().map(|spill| spill.path().to_owned());
        let kept = Arc::new(Mutex::new(BufferedOutput {
            capture: Capture::new(chars),
            unread: live.then(|| Capture::new(chars)),
            spill,
        }));
        let (close, closed) = watch::channel(false);
        let adding = Arc::clone(&kept);
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match receiver.read(&mut buffer).await {
                    Ok(0) => break,
                    Ok(n) => adding.lock().add(&buffer[..n]),
                    Err(error) => {
                        tracing::warn!(%error, "cannot read a command's output");
                        break;
                    }
                }
            }
            close.send_replace(true);
        });
        Ok(Self { kept, file, closed })
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the output file if it was created.
    pub(super) fn written_file(&self) -> Option<PathBuf> {
        let kept = self.kept.lock();
        let spill = kept.spill.as_ref().filter(|spill| spill.is_begun());
        spill.map(|spill| spill.path().to_owned())
    }

    /// Waits until all writers have closed the output. Returns false on timeout.
    pub(super) async fn closed(&self, within: Duration) -> bool {
        let mut closed = self.closed.clone();
        let end = closed.wait_for(|closed| *closed);
        tokio::time::timeout(within, end).await.is_ok()
    }

    /// Returns the output since the last call, shortened to `chars` characters.
    pub(super) fn take_new_output(&self, chars: usize) -> String {
        let mut kept = self.kept.lock();
        let unread = kept.unread.as_mut();
        let unread = unread.map(|unread| std::mem::replace(unread, Capture::new(chars)));
        unread.map_or_else(String::new, |unread| unread.text(chars))
    }

    pub(super) fn capture(&self) -> MappedMutexGuard<'_, Capture> {
        MutexGuard::map(self.kept.lock(), |kept| &mut kept.capture)
    }
}

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
