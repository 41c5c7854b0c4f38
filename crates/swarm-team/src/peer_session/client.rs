//! The sending side.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_protocol::{
    ClaudeSession, LONGEST_FRAME, PeerAddress, PeerDelivery, PeerFrame, PeerMessage, PeerRecord,
    PeerSession, PeerStatus, SessionId,
};
use swarm_store::{Sessions, StoreError};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::bridge::Log;
use super::error::PeerError;
use super::lines::{line, next_frame};
use super::{claude, peer_records};

/// How long the receiver may take for its first answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long hubs may take to list their sessions.
const LIST_PATIENCE: Duration = Duration::from_secs(5);

/// How long a receiver on a hub may take for it.
const HUB_PATIENCE: Duration = Duration::from_secs(10);

/// How long the sender waits for the transcript after that.
const FOR_DELIVERY: Duration = Duration::from_secs(2);

/// The sessions that can be written to from here.
#[derive(Debug, Clone)]
pub struct PeerPlaces {
    /// Directory of the records of sessions on this machine.
    pub directory: PathBuf,
    /// Directory of the records of Claude Code's sessions.
    pub claude_sessions: PathBuf,
    /// The sessions of the hubs that are used here.
    pub hubs: Vec<Sessions>,
}

impl PeerPlaces {
    /// Returns the sessions of this machine, those of Claude Code last, then the others of each hub,
    /// each oldest first; and the errors of hubs that could not be asked. The hubs are asked at the
    /// same time, in tasks of the runtime, for at most 5 seconds.
    pub async fn sessions(&self) -> (Vec<PeerSession>, Vec<StoreError>) {
        let records = peer_records(&self.directory);
        let mut sessions: Vec<PeerSession> = records.iter().map(PeerRecord::public).collect();
        let of_claude = claude::sessions(&self.claude_sessions);
        sessions.extend(of_claude.iter().map(ClaudeSession::public));
        let ask = |hub: &Sessions| {
            let hub = hub.waiting_at_most(LIST_PATIENCE);
            tokio::spawn(async move { hub.all().await })
        };
        let asked: Vec<_> = self.hubs.iter().map(ask).collect();
        let mut errors: Vec<StoreError> = Vec::new();
        for hub in asked {
            match hub.await {
                Ok(Ok(mut all)) => {
                    all.retain(|one| sessions.iter().all(|known| known.session != one.session));
                    sessions.append(&mut all);
                }
                // A hub is asked once for each credentials file.
                Ok(Err(error)) => {
                    let text = error.to_string();
                    if errors.iter().all(|known| known.to_string() != text) {
                        errors.push(error);
                    }
                }
                // It panicked, which was reported, or the runtime ends.
                Err(_) => {}
            }
        }
        (sessions, errors)
    }

    /// Sends a message to the session with this address. Returns how far the message has come after a
    /// few seconds: delivered, queued or held.
    ///
    /// # Errors
    /// [`PeerError`]; the message was not delivered then, except after [`PeerError::Silent`].
    pub async fn send(
        &self,
        to: PeerAddress<'_>,
        message: PeerMessage,
    ) -> Result<PeerDelivery, PeerError> {
        // The frame also has the sender and the id; JSON escapes characters.
        let frame = line(&PeerFrame::Message(message.clone()));
        if frame.len() > LONGEST_FRAME {
            return Err(PeerError::TooLong);
        }
        let status = match to {
            PeerAddress::Socket(path) if path.as_os_str().is_empty() => {
                return Err(PeerError::NoTarget(to.to_string()));
            }
            PeerAddress::Bridge("") => return Err(PeerError::NoTarget(to.to_string())),
            PeerAddress::Socket(path) => {
                let sent = self.over_socket(path, &message, &frame).await;
                sent.ok_or_else(|| PeerError::Unknown(to.to_string()))??
            }
            PeerAddress::Bridge(_) => self.over_hub(to, &message).await?,
        };
        match status.status {
            PeerDelivery::Expired => Err(PeerError::Refused {
                to: to.to_string(),
                why: status
                    .drop_reason
                    .or(status.status_detail)
                    .filter(|why| !why.is_empty())
                    .unwrap_or_else(|| "it gave no reason".to_owned()),
            }),
            reached => Ok(reached),
        }
    }

    /// Sends a message to the session with this socket; `None` if there is none.
    async fn over_socket(
        &self,
        path: &Path,
        message: &PeerMessage,
        frame: &[u8],
    ) -> Option<Result<PeerStatus, PeerError>> {
        let mut records = peer_records(&self.directory).into_iter();
        if let Some(record) = records.find(|record| record.socket == path) {
            return Some(exchange(&record, frame).await);
        }
        let mut of_claude = claude::sessions(&self.claude_sessions).into_iter();
        let session = of_claude.find(|session| session.messaging_socket_path == path)?;
        Some(claude::send(&session, message).await)
    }

    async fn over_hub(
        &self,
        to: PeerAddress<'_>,
        message: &PeerMessage,
    ) -> Result<PeerStatus, PeerError> {
        if self.hubs.is_empty() {
            return Err(PeerError::NoHub);
        }
        let address = to.to_string();
        let mut failed = None;
        for hub in &self.hubs {
            match hub.all().await {
                Ok(all) => {
                    if let Some(found) = all.iter().find(|one| one.address == address) {
                        return over_log(hub, found.session, message).await;
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.map_or(PeerError::Unknown(address), PeerError::Hub))
    }
}

async fn exchange(record: &PeerRecord, frame: &[u8]) -> Result<PeerStatus, PeerError> {
    let failed = PeerError::connection_to(&record.socket);
    let stream = write(record, frame).await.map_err(failed)?;
    let mut lines = BufReader::new(stream);
    let first = timeout(PATIENCE, next_frame(&mut lines)).await;
    let first = first.map_err(|_| PeerError::Silent)?;
    let first = first.and_then(status).map_err(failed)?;
    if settled(&first) {
        return Ok(first);
    }
    match timeout(FOR_DELIVERY, next_frame(&mut lines)).await {
        Ok(last) => last.and_then(status).map_err(failed),
        Err(_) => Ok(first),
    }
}

async fn write(record: &PeerRecord, frame: &[u8]) -> io::Result<UnixStream> {
    let token = record.token.clone();
    let mut stream = UnixStream::connect(&record.socket).await?;
    stream.write_all(&line(&PeerFrame::Auth { token })).await?;
    stream.write_all(frame).await?;
    Ok(stream)
}

async fn over_log(
    sessions: &Sessions,
    to: SessionId,
    message: &PeerMessage,
) -> Result<PeerStatus, PeerError> {
    let mut log = Log::from(sessions, to, sessions.end(to).await?);
    let frame = PeerFrame::Message(message.clone());
    sessions.append(to, frame).await?;
    let first = timeout(HUB_PATIENCE, log.answer_to(message)).await;
    let first = first.map_err(|_| PeerError::Silent)??;
    if settled(&first) {
        return Ok(first);
    }
    match timeout(FOR_DELIVERY, log.answer_to(message)).await {
        Ok(last) => Ok(last?),
        Err(_) => Ok(first),
    }
}

/// Returns whether a sender waits for no further answer.
fn settled(first: &PeerStatus) -> bool {
    first.status != PeerDelivery::Queued
}

fn status(frame: PeerFrame) -> io::Result<PeerStatus> {
    match frame {
        PeerFrame::Status(status) => Ok(status),
        _ => Err(io::Error::other("the answer is not a status")),
    }
}
