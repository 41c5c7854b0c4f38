//! What a server's program writes to standard error: drained for as long as it writes, kept within bounds.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of the end that are kept in memory for error messages.
const TAIL: usize = 2048;

/// The end of what was written, as far as it was read by now.
#[derive(Debug, Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    /// The text; bytes that are none are replaced.
    pub(crate) fn text(&self) -> String {
        let tail = self.0.lock();
        String::from_utf8_lossy(&tail).into_owned()
    }

    fn add(&self, bytes: &[u8]) {
        let mut tail = self.0.lock();
        tail.extend_from_slice(bytes);
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
    }
}

/// Reads to the end in a task of its own: a program would stop at a pipe that nobody reads.
pub(crate) fn drain(
    mut stderr: impl AsyncRead + Unpin + Send + 'static,
    path: Option<PathBuf>,
    limit: u64,
) -> StderrTail {
    let tail = StderrTail::default();
    let kept = tail.clone();
    tokio::spawn(async move {
        let mut log = path.and_then(|path| Log::open(path, limit));
        let mut buffer = vec![0; 16 * 1024];
        // The end of the program ends its output; an error is no different to us.
        while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
            kept.add(&buffer[..read]);
            if let Some(open) = &mut log
                && let Err(error) = open.add(&buffer[..read])
            {
                tracing::warn!(path = %open.path.display(), %error, "the log of an MCP server is given up");
                log = None;
            }
        }
    });
    tail
}

/// A file that begins anew when it is full. What former programs of the server wrote stays until then, and several may
/// write at once.
struct Log {
    file: File,
    path: PathBuf,
    written: u64,
    limit: u64,
}

impl Log {
    fn open(path: PathBuf, limit: u64) -> Option<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path);
        match file {
            Ok(file) => Some(Self {
                written: file.metadata().map_or(0, |meta| meta.len()),
                file,
                path,
                limit,
            }),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the log of an MCP server cannot be written");
                None
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.written.saturating_add(bytes.len() as u64) > self.limit {
            self.file.set_len(0)?;
            self.file.write_all(b"(what came before was dropped)\n")?;
            self.written = 0;
        }
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_log_stays_within_its_bound_and_keeps_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.log");
        let text = "a line that says nothing of use\n".repeat(10_000) + "the last words\n";
        let (reader, mut writer) = tokio::io::duplex(1024);
        let tail = drain(reader, Some(path.clone()), 40_000);
        tokio::io::AsyncWriteExt::write_all(&mut writer, text.as_bytes())
            .await
            .unwrap();
        drop(writer);
        while !tail.text().ends_with("the last words\n") {
            tokio::task::yield_now().await;
        }
        loop {
            let log = std::fs::read_to_string(&path).unwrap();
            assert!(log.len() <= 60_000, "{}", log.len());
            if log.ends_with("the last words\n") {
                assert!(log.starts_with("(what came before"));
                break;
            }
            tokio::task::yield_now().await;
        }
        assert!(tail.text().len() <= TAIL);
    }
}
