//! The receiving side: a socket for messages of other sessions.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_os::OsError;
use swarm_protocol::{
    LONGEST_FRAME, PeerDelivery, PeerFrame, PeerInbound, PeerMessage, PeerMode, PeerRecord,
    PeerStatus,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::record;

/// How many messages one session accepts within [`BURST_TIME`], as in Claude Code.
const BURST: usize = 30;
const BURST_TIME: Duration = Duration::from_secs(10);

/// How many messages wait for the model and for the person, as in Claude Code.
const QUEUE: usize = 50;
const HELD: usize = 100;

/// How long a sender may take for its two lines.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum bytes of a frame: a character has up to four.
const FRAME_BYTES: u64 = 4 * LONGEST_FRAME as u64;

/// Where a session's messages go.
pub trait PeerInbox: Send + Sync + fmt::Debug {
    /// Returns how many messages wait for the model, and how many are held.
    fn waiting(&self) -> (usize, usize);

    /// Adds a message. The receiver resolves when it is in the transcript on disk; its sender is
    /// dropped if the session ends before.
    fn add(&self, message: PeerMessage, hold: bool) -> oneshot::Receiver<()>;
}

/// What a session listens with.
pub struct PeerListener {
    /// Directory of the records.
    pub directory: PathBuf,
    /// Its own record.
    pub record: PeerRecord,
    /// What happens to messages.
    pub inbound: PeerInbound,
    /// Returns the current mode.
    pub mode: Box<dyn Fn() -> PeerMode + Send + Sync>,
    /// Where they go.
    pub inbox: Arc<dyn PeerInbox>,
}

impl fmt::Debug for PeerListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerListener")
            .field("socket", &self.record.socket)
            .field("inbound", &self.inbound)
            .finish_non_exhaustive()
    }
}

/// Listens until it is dropped, which removes the socket and the record.
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
        let bind = |source| OsError::Io {
            op: "listen on",
            path: socket.clone(),
            source,
        };
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
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(bound, Arc::new(Reception::of(listener))));
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

async fn accept(bound: UnixListener, reception: Arc<Reception>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = bound.accept() => match accepted {
                Ok((stream, _)) => {
                    let reception = Arc::clone(&reception);
                    connections.spawn(async move {
                        if let Err(error) = reception.serve(stream).await {
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

/// Decides about messages and keeps count of them.
struct Reception {
    listener: PeerListener,
    recent: Mutex<VecDeque<Instant>>,
}

impl Reception {
    fn of(listener: PeerListener) -> Self {
        Self {
            listener,
            recent: Mutex::default(),
        }
    }

    async fn serve(&self, stream: UnixStream) -> io::Result<()> {
        let other = stream.peer_cred()?.uid();
        // The socket belongs to the user of this process.
        if other != std::fs::metadata(&self.listener.record.socket)?.uid() {
            return Err(io::Error::other(format!(
                "user {other} is not the session's"
            )));
        }
        let (reading, mut writing) = stream.into_split();
        let mut lines = BufReader::new(reading);
        let read = tokio::time::timeout(PATIENCE, self.read(&mut lines));
        let message = read.await.map_err(io::Error::other)??;
        let msg_id = message.msg_id.clone();
        let answer = |status| PeerStatus {
            msg_id: msg_id.clone(),
            status,
            status_detail: None,
            drop_reason: None,
        };
        let hold = match self.refusal(&message) {
            Ok(hold) => hold,
            Err(why) => {
                let refused = PeerStatus {
                    status_detail: Some("refused".to_owned()),
                    drop_reason: Some(why),
                    ..answer(PeerDelivery::Expired)
                };
                return write(&mut writing, refused).await;
            }
        };
        let delivered = self.listener.inbox.add(message, hold);
        let first = if hold {
            PeerDelivery::Held
        } else {
            PeerDelivery::Queued
        };
        // The message stays queued if its sender does not wait.
        write(&mut writing, answer(first)).await?;
        let last = match delivered.await {
            Ok(()) => answer(PeerDelivery::Delivered),
            Err(_) => PeerStatus {
                drop_reason: Some("the session ended before it read the message".to_owned()),
                ..answer(PeerDelivery::Expired)
            },
        };
        write(&mut writing, last).await
    }

    async fn read(
        &self,
        lines: &mut (impl tokio::io::AsyncBufRead + Unpin),
    ) -> io::Result<PeerMessage> {
        match next_frame(lines).await? {
            PeerFrame::Auth { token } if token == self.listener.record.token => {}
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

    /// Returns whether a message is held, or why it is refused.
    fn refusal(&self, message: &PeerMessage) -> Result<bool, String> {
        if message.text.trim().is_empty() {
            return Err("the message is empty".to_owned());
        }
        let own = (self.listener.mode)();
        let hold = match self.listener.inbound.for_message(message.from_mode, own) {
            PeerInbound::Refuse => {
                return Err(
                    "the session refuses messages of other sessions (peers.inbound)".to_owned(),
                );
            }
            inbound => inbound != PeerInbound::Accept,
        };
        let (unread, on_hold) = self.listener.inbox.waiting();
        if hold && on_hold >= HELD {
            return Err(format!("{HELD} messages are held already"));
        }
        if !hold && unread >= QUEUE {
            return Err(format!("{QUEUE} messages wait already"));
        }
        let now = Instant::now();
        let mut recent = self.recent.lock();
        recent.retain(|at| now.duration_since(*at) < BURST_TIME);
        if recent.len() >= BURST {
            let seconds = BURST_TIME.as_secs();
            return Err(format!(
                "more than {BURST} messages within {seconds} s: wait before you write again"
            ));
        }
        recent.push_back(now);
        Ok(hold)
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
