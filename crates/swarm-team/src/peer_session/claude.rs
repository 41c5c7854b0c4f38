//! Sessions of Claude Code on this machine. They find a lead among their own sessions, and a lead
//! finds them there.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_os::process::Process;
use swarm_os::{OsError, replace_in_private_dir};
use swarm_protocol::{
    CLAUDE_PEER_PROTOCOL, ClaudeMessage, ClaudeReceipt, ClaudeSession, ClaudeSessionKey,
    LONGEST_FRAME, MessageId, PeerAddress, PeerDelivery, PeerFrame, PeerMessage, PeerRecord,
    PeerStatus,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use super::error::PeerError;
use super::lines::{line, next_frame};
use super::record;

/// How long a session may take to read a message.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the sender waits for a receipt after that. None comes for a message that is simply read.
const FOR_RECEIPT: Duration = Duration::from_secs(1);

/// The value of `entrypoint` in the records of leads.
const LEAD: &str = "swarm";

/// Writes the record and the key of a lead.
pub(super) fn enter(directory: &Path, own: &PeerRecord) -> Result<(), OsError> {
    let session = lead(own);
    let key = ClaudeSessionKey {
        peer_token: own.token.clone(),
        proc_start: own.proc_start.clone(),
    };
    let [record, key_file] = files(directory, &session);
    // Ids, numbers and paths always serialize.
    replace_in_private_dir(&key_file, &serde_json::to_vec(&key).unwrap_or_default())?;
    replace_in_private_dir(&record, &serde_json::to_vec(&session).unwrap_or_default())
}

/// Returns a lead as a session of Claude Code.
fn lead(own: &PeerRecord) -> ClaudeSession {
    let name = own.team.as_ref().map(ToString::to_string);
    let name = name.unwrap_or_else(|| own.session.short());
    ClaudeSession {
        pid: own.pid,
        session_id: own.session,
        cwd: own.cwd.clone(),
        started_at: own.started_at,
        proc_start: own.proc_start.clone(),
        version: format!("{LEAD} {}", env!("CARGO_PKG_VERSION")),
        peer_protocol: CLAUDE_PEER_PROTOCOL,
        kind: "interactive".to_owned(),
        entrypoint: LEAD.to_owned(),
        messaging_socket_path: own.socket.clone(),
        name: Some(format!("{LEAD}-{name}")),
    }
}

fn files(directory: &Path, session: &ClaudeSession) -> [PathBuf; 2] {
    [
        record_path(directory, session.pid),
        directory.join(session.key_file()),
    ]
}

fn record_path(directory: &Path, pid: u32) -> PathBuf {
    directory.join(format!("{pid}.json"))
}

/// Removes the key of a lead, and its record. A process has one record, which the lead that began
/// last has written: if that is another one, it stays. Otherwise the process's newest lead in
/// `others` enters instead.
pub(super) fn leave(directory: &Path, own: &PeerRecord, others: &[PeerRecord]) {
    let of_process = record_path(directory, own.pid);
    let current = record::parsed::<ClaudeSession>(&of_process);
    let is_own = current.is_some_and(|current| current.session_id == own.session);
    record::remove(&directory.join(lead(own).key_file()));
    if !is_own {
        return;
    }
    let mut others = others.iter().rev();
    let next = others.find(|other| other.pid == own.pid && other.session != own.session);
    if next.is_none_or(|next| enter(directory, next).is_err()) {
        record::remove(&of_process);
    }
}

/// Returns the running sessions of Claude Code, oldest first. Files of leads that were killed are
/// removed.
pub(super) fn sessions(directory: &Path) -> Vec<ClaudeSession> {
    let mut sessions: Vec<ClaudeSession> = record::files_with(directory, "json")
        .filter_map(|path| record::parsed(&path))
        .collect();
    sessions.retain(|session| {
        let is_lead = session.entrypoint == LEAD;
        let is_running = record::is_running(session.pid, &session.proc_start);
        if is_lead && !is_running {
            for path in files(directory, session) {
                record::remove(&path);
            }
        }
        !is_lead && is_running && session.peer_protocol == CLAUDE_PEER_PROTOCOL
    });
    sessions.sort_by_key(|session| (session.started_at, session.pid));
    sessions
}

/// Sends a message. Claude Code accepts the user's own processes without the session's key.
pub(super) async fn send(
    session: &ClaudeSession,
    message: &PeerMessage,
) -> Result<PeerStatus, PeerError> {
    let receipts = Receipts::next_to(&session.messaging_socket_path);
    let reply_to = receipts
        .as_ref()
        .map_or_else(|| message.from.clone(), Receipts::address);
    let frame = line(&PeerFrame::User(ClaudeMessage::of(message, reply_to)));
    if frame.len() > LONGEST_FRAME {
        return Err(PeerError::TooLong);
    }
    let socket = &session.messaging_socket_path;
    let failed = PeerError::connection_to(socket);
    let stream = write(socket, &frame).await.map_err(failed)?;
    // From here on, a busy session may still read the frame.
    let ended = timeout(PATIENCE, closed(stream)).await;
    ended.map_err(|_| PeerError::Silent)?.map_err(failed)?;
    let queued = PeerStatus {
        msg_id: message.msg_id.clone(),
        status: PeerDelivery::Queued,
        status_detail: None,
        drop_reason: None,
    };
    let Some(receipts) = receipts else {
        return Ok(queued);
    };
    let receipt = timeout(FOR_RECEIPT, receipts.of(&message.msg_id)).await;
    Ok(receipt.unwrap_or(queued))
}

/// Writes one frame.
async fn write(socket: &Path, frame: &[u8]) -> io::Result<UnixStream> {
    let written = async {
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(frame).await?;
        stream.shutdown().await?;
        Ok::<_, io::Error>(stream)
    };
    timeout(PATIENCE, written).await?
}

/// Waits until the receiver, which has then read the frame, closes the connection.
async fn closed(mut stream: UnixStream) -> io::Result<()> {
    // Nothing comes before its end.
    stream.read(&mut [0]).await.map(drop)
}

/// Sends the receipt for a message, if there is one, to its sender, if that is a running session.
pub(super) async fn report(
    directory: &Path,
    sender: &str,
    own_socket: &Path,
    status: PeerStatus,
) -> io::Result<()> {
    let own = PeerAddress::Socket(own_socket).to_string();
    let Some(receipt) = ClaudeReceipt::of(&status, own) else {
        return Ok(());
    };
    let mut all = sessions(directory).into_iter();
    let Some(session) = all.find(|session| session.public().address == sender) else {
        return Ok(());
    };
    let frame = line(&PeerFrame::Control(receipt));
    let stream = write(&session.messaging_socket_path, &frame).await?;
    timeout(PATIENCE, closed(stream)).await?
}

/// Removes the sockets for receipts that killed processes have left.
fn remove_left(directory: &Path) {
    let left = record::files_with(directory, "sock").filter(|path| {
        let name = path.file_stem().and_then(OsStr::to_str);
        let rest = name.and_then(|name| name.strip_prefix(LEAD)?.strip_prefix('-'));
        let pid = rest.and_then(|rest| rest.split_once('-')?.0.parse().ok());
        pid.is_some_and(|pid| Process::running(pid).is_none())
    });
    for path in left {
        record::remove_socket(&path);
    }
}

/// A socket for the receipt of one message. Claude Code only connects to sockets in the directory of
/// its own.
struct Receipts {
    listener: UnixListener,
    path: PathBuf,
}

impl Receipts {
    /// Listens next to another socket; `None` if that is not possible.
    fn next_to(socket: &Path) -> Option<Self> {
        remove_left(socket.parent()?);
        let (id, pid) = (MessageId::random().to_string(), std::process::id());
        let path = socket.with_file_name(format!("{LEAD}-{pid}-{}.sock", id.get(..8)?));
        let listener = UnixListener::bind(&path)
            .inspect_err(|error| tracing::debug!(path = %path.display(), %error, "no receipts"))
            .ok()?;
        Some(Self { listener, path })
    }

    fn address(&self) -> String {
        PeerAddress::Socket(&self.path).to_string()
    }

    /// Returns what the receipt for a message says. Does not return without one.
    async fn of(&self, message: &MessageId) -> PeerStatus {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                return std::future::pending().await;
            };
            let mut lines = BufReader::new(stream);
            match next_frame(&mut lines).await {
                Ok(PeerFrame::Control(receipt)) if receipt.orig_msg_id == *message => {
                    return receipt.status();
                }
                other => tracing::debug!(?other, "not the receipt of a message"),
            }
        }
    }
}

impl Drop for Receipts {
    fn drop(&mut self) {
        record::remove(&self.path);
    }
}
