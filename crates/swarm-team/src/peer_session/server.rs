//! The receiving side on this machine: a socket for messages of other sessions.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use swarm_os::OsError;
use swarm_protocol::{PeerDelivery, PeerFrame, PeerMessage, PeerRecord, PeerStatus, partial_debug};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::lines::{line, next_frame};
use super::reception::{PeerListener, Reception};
use super::{bridge, claude, record};

/// How long a sender may take for its two lines.
const PATIENCE: Duration = Duration::from_secs(5);

/// Listens, also on the hub, until it is dropped, which removes the socket and the record.
pub struct PeerServer {
    directory: PathBuf,
    claude_sessions: PathBuf,
    record: PeerRecord,
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
        if let Err(error) = claude::enter(&listener.claude_sessions, &listener.record) {
            let line = format!("sessions of Claude Code do not find this one: {error}");
            listener.inbox.notice(line);
        }
        let (directory, own) = (listener.directory.clone(), listener.record.clone());
        let (hub, claude_sessions) = (listener.hub.clone(), listener.claude_sessions.clone());
        let reception = Arc::new(Reception::of(listener));
        let connections = Connections {
            reception: Arc::clone(&reception),
            claude_sessions: claude_sessions.clone(),
            socket,
            token: own.token.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(bound, Arc::new(connections)));
        if let Some(hub) = hub {
            tasks.spawn(bridge::listen(hub, own.public(), reception));
        }
        Ok(Self {
            directory,
            claude_sessions,
            record: own,
            _tasks: tasks,
        })
    }
}

// The record has the token.
partial_debug!(PeerServer: socket = record.socket);

impl Drop for PeerServer {
    fn drop(&mut self) {
        record::remove(&record::path(&self.directory, self.record.session));
        record::remove(&self.record.socket);
        let others = record::peer_records(&self.directory);
        claude::leave(&self.claude_sessions, &self.record, &others);
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
    claude_sessions: PathBuf,
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
        match read.await.map_err(io::Error::other)?? {
            PeerFrame::Message(message) => {
                let (first, last) = self.reception.take(message);
                // The message stays queued if its sender does not wait.
                write(&mut writing, first).await?;
                match last {
                    Some(last) => write(&mut writing, last.await).await,
                    None => Ok(()),
                }
            }
            PeerFrame::User(message) => {
                // Claude Code waits for the end of the connection.
                drop((lines, writing));
                self.take_of_claude(message.opened()).await
            }
            _ => Err(io::Error::other("the second line is not a message")),
        }
    }

    /// Takes a message of a session of Claude Code, which gets a receipt unless it is simply read.
    async fn take_of_claude(&self, message: PeerMessage) -> io::Result<()> {
        let sender = message.from.clone();
        let (first, last) = self.reception.take(message);
        let report = async |status| {
            claude::report(&self.claude_sessions, &sender, &self.socket, status).await
        };
        let is_read = first.status == PeerDelivery::Queued;
        report(first).await?;
        let Some(last) = last else { return Ok(()) };
        match last.await {
            last if is_read && last.status == PeerDelivery::Delivered => Ok(()),
            last => report(last).await,
        }
    }

    /// Reads the second line of a connection whose first line has the token.
    async fn read(
        &self,
        lines: &mut (impl tokio::io::AsyncBufRead + Unpin),
    ) -> io::Result<PeerFrame> {
        match next_frame(lines).await? {
            PeerFrame::Auth { token } if token == self.token => next_frame(lines).await,
            _ => Err(io::Error::other(
                "the first line has not the session's token",
            )),
        }
    }
}

async fn write(
    writing: &mut (impl tokio::io::AsyncWrite + Unpin),
    status: PeerStatus,
) -> io::Result<()> {
    writing.write_all(&line(&PeerFrame::Status(status))).await
}
