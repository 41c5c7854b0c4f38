//! The standard error of a server's program: read as long as the program writes, with a size limit.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of the end that are kept in memory for error messages.
const TAIL_BYTES: usize = 2048;

/// The end of the standard error read so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    /// Returns the text with invalid UTF-8 replaced.
    pub(crate) fn text(&self) -> String {
        let tail = self.0.lock();
        String::from_utf8_lossy(&tail).into_owned()
    }

    fn add(&self, bytes: &[u8]) {
        let mut tail = self.0.lock();
        tail.extend_from_slice(bytes);
        let over = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..over);
    }
}

/// Reads to the end in a background task, because a full pipe would block the program.
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
        // The output ends with the program; a read error is treated the same way.
        while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
            kept.add(&buffer[..read]);
            if let Some(open) = &mut log
                && let Err(error) = open.add(&buffer[..read])
            {
                tracing::warn!(path = %open.path.display(), %error, "cannot write the log of an MCP server, closing it");
                log = None;
            }
        }
    });
    tail
}

/// A log file that is truncated when it is full. Output of earlier programs of the server remains
/// until then; several processes may append concurrently.
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
                tracing::warn!(path = %path.display(), %error, "cannot open the log of an MCP server");
                None
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.written.saturating_add(bytes.len() as u64) > self.limit {
            self.file.set_len(0)?;
            self.file.write_all(b"(earlier output was dropped)\n")?;
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
    async fn a_log_stays_within_its_limit_and_keeps_the_newest_output() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.log");
        let text = "a line without useful informa\n".repeat(10_000) + "the last words\n";
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
                assert!(log.starts_with("(earlier output"));
                break;
            }
            tokio::task::yield_now().await;
        }
        assert!(tail.text().len() <= TAIL_BYTES);
    }
}
