//! The receiving side on this machine: a socket for messages of other sessions.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use swarm_os::OsError;
use swarm_protocol::{LONGEST_FRAME, PeerFrame, PeerMessage, PeerStatus};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::reception::{PeerListener, Reception};
use super::{bridge, record};

/// How long a sender may take for its two lines.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum bytes of a frame: a character has up to four.
const FRAME_BYTES: u64 = 4 * LONGEST_FRAME as u64;

/// Listens, also on the hub, until it is dropped, which removes the socket and the record.
#[derive(Debug)]
pub struct PeerServer {
    files: [PathBuf; 2],
    _tasks: JoinSet<()>,
}

impl PeerServer {
    /// Begins to listen. Call within a tokio runtime with I/O.
    ///
    /// # Errors
    /// [`OsError`] if the socket or the record cannot be created.
    pub fn start(listener: PeerListener) -> Result<Self, OsError> {
        let socket = listener.record.socket.clone();
        let bind = |source| OsError::io(&socket, "listen on", source);
        if let Some(directory) = socket.parent() {
            swarm_os::ensure_private_dir(directory)?;
        }
        // A socket of an earlier process of this session.
        record::remove(&socket);
        let bound = UnixListener::bind(&socket).map_err(bind)?;
        record::write(&listener.directory, &listener.record)?;
        let files = [
            record::path(&listener.directory, listener.record.session),
            socket,
        ];
        let (token, session) = (listener.record.token.clone(), listener.record.public());
        let hub = listener.hub.clone();
        let reception = Arc::new(Reception::of(listener));
        let connections = Connections {
            reception: Arc::clone(&reception),
            socket: files[1].clone(),
            token,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(bound, Arc::new(connections)));
        if let Some(hub) = hub {
            tasks.spawn(bridge::listen(hub, session, reception));
        }
        Ok(Self {
            files,
            _tasks: tasks,
        })
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        for file in &self.files {
            record::remove(file);
        }
    }
}

async fn accept(bound: UnixListener, own: Arc<Connections>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = bound.accept() => match accepted {
                Ok((stream, _)) => {
                    let own = Arc::clone(&own);
                    connections.spawn(async move {
                        if let Err(error) = own.serve(stream).await {
                            tracing::debug!(%error, "connection of another session failed");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection of another session accepted");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// The connections to the socket.
struct Connections {
    reception: Arc<Reception>,
    socket: PathBuf,
    token: String,
}

impl Connections {
    async fn serve(&self, stream: UnixStream) -> io::Result<()> {
        let other = stream.peer_cred()?.uid();
        // The socket belongs to the user of this process.
        if other != std::fs::metadata(&self.socket)?.uid() {
            return Err(io::Error::other(format!(
                "user {other} is not the session's"
            )));
        }
        let (reading, mut writing) = stream.into_split();
        let mut lines = BufReader::new(reading);
        let read = tokio::time::timeout(PATIENCE, self.read(&mut lines));
        let message = read.await.map_err(io::Error::other)??;
        let (first, last) = self.reception.take(message);
        // The message stays queued if its sender does not wait.
        write(&mut writing, first).await?;
        match last {
            Some(last) => write(&mut writing, last.await).await,
            None => Ok(()),
        }
    }

    async fn read(
        &self,
        lines: &mut (impl tokio::io::AsyncBufRead + Unpin),
    ) -> io::Result<PeerMessage> {
        match next_frame(lines).await? {
            PeerFrame::Auth { token } if token == self.token => {}
            _ => {
                return Err(io::Error::other(
                    "the first line has not the session's token",
                ));
            }
        }
        match next_frame(lines).await? {
            PeerFrame::Message(message) => Ok(message),
            _ => Err(io::Error::other("the second line is not a message")),
        }
    }
}

/// Reads one line of at most [`LONGEST_FRAME`] characters.
pub(super) async fn next_frame(
    lines: &mut (impl tokio::io::AsyncBufRead + Unpin),
) -> io::Result<PeerFrame> {
    let mut bytes = Vec::new();
    lines
        .take(FRAME_BYTES + 1)
        .read_until(b'\n', &mut bytes)
        .await?;
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    if text.chars().count() > LONGEST_FRAME {
        return Err(io::Error::other(format!(
            "a frame has more than {LONGEST_FRAME} characters"
        )));
    }
    serde_json::from_str(&text).map_err(io::Error::other)
}

async fn write(
    writing: &mut (impl tokio::io::AsyncWrite + Unpin),
    status: PeerStatus,
) -> io::Result<()> {
    writing.write_all(&line(&PeerFrame::Status(status))).await
}

/// Returns a frame as a line.
pub(super) fn line(frame: &PeerFrame) -> Vec<u8> {
    // Strings always serialize.
    let mut bytes = serde_json::to_vec(frame).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
