//! The sending side: one connection for each message.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_protocol::{LONGEST_FRAME, PeerDelivery, PeerFrame, PeerMessage, PeerRecord, PeerStatus};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use super::peer_records;
use super::server::{line, next_frame};

/// How long the receiver may take for its first answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the sender waits for the transcript after that.
const FOR_DELIVERY: Duration = Duration::from_secs(2);

/// A message could not be sent to another session.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The address has no path.
    #[error("`uds:` needs the path of a session's socket")]
    NoPath,
    /// No session has this socket.
    #[error("no session of this config directory listens on {0}")]
    Unknown(PathBuf),
    /// The text is too long.
    #[error(
        "the message has more than {LONGEST_FRAME} characters: write it into a file and send the path"
    )]
    TooLong,
    /// The connection failed.
    #[error("cannot write to the session on {path}: {source}")]
    Connection {
        /// The socket.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The session did not take the message.
    #[error("the session on {path} did not take the message: {why}")]
    Refused {
        /// The socket.
        path: PathBuf,
        /// Its reason.
        why: String,
    },
}

/// Sends a message to the session whose record in `directory` has this socket. Returns how far the
/// message has come after a few seconds: delivered, queued or held.
///
/// # Errors
/// [`PeerError`]; the message was not delivered then.
pub async fn send_to_session(
    directory: &Path,
    socket: &Path,
    message: PeerMessage,
) -> Result<PeerDelivery, PeerError> {
    if socket.as_os_str().is_empty() {
        return Err(PeerError::NoPath);
    }
    let mut records = peer_records(directory).into_iter();
    let record = records.find(|record| record.socket == socket);
    let record = record.ok_or_else(|| PeerError::Unknown(socket.to_owned()))?;
    // The frame also has the sender and the id; JSON escapes characters.
    let frame = line(&PeerFrame::Message(message));
    if frame.len() > LONGEST_FRAME {
        return Err(PeerError::TooLong);
    }
    let path = || socket.to_owned();
    let sent = exchange(&record, &frame).await;
    let status = sent.map_err(|source| PeerError::Connection {
        path: path(),
        source,
    })?;
    match status.status {
        PeerDelivery::Expired => Err(PeerError::Refused {
            path: path(),
            why: status
                .drop_reason
                .or(status.status_detail)
                .unwrap_or_default(),
        }),
        reached => Ok(reached),
    }
}

async fn exchange(record: &PeerRecord, frame: &[u8]) -> io::Result<PeerStatus> {
    let token = record.token.clone();
    let mut stream = UnixStream::connect(&record.socket).await?;
    stream.write_all(&line(&PeerFrame::Auth { token })).await?;
    stream.write_all(frame).await?;
    let mut lines = BufReader::new(stream);
    let first = tokio::time::timeout(PATIENCE, next_frame(&mut lines)).await;
    let first = status(first.map_err(io::Error::other)??)?;
    if first.status != PeerDelivery::Queued {
        return Ok(first);
    }
    match tokio::time::timeout(FOR_DELIVERY, next_frame(&mut lines)).await {
        Ok(last) => status(last?),
        Err(_) => Ok(first),
    }
}

fn status(frame: PeerFrame) -> io::Result<PeerStatus> {
    match frame {
        PeerFrame::Status(status) => Ok(status),
        _ => Err(io::Error::other("the answer is not a status")),
    }
}
