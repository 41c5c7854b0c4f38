//! Sessions on other machines, through a hub: each has a log there, to which others append messages
//! and to which it appends its answers.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::{
    PERSON_SENDER, PeerAddress, PeerFrame, PeerMessage, PeerSession, PeerStatus, SessionId,
};
use swarm_store::{Changes, Sessions, StoreError};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::reception::{HubPlace, Reception};

/// Pause before a hub that did not answer is tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// Takes messages from the log of a session until the task is aborted, and joins again when the hub
/// was away for too long.
pub(super) async fn listen(hub: HubPlace, session: PeerSession, reception: Arc<Reception>) {
    let HubPlace { sessions, process } = hub;
    let (id, session) = (session.session, session.on_hub(process.host.clone()));
    let mut position = None;
    let mut is_told = false;
    loop {
        let (lease, end) = match sessions.join(session.clone(), &process).await {
            Ok(joined) => joined,
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    reception.notice(notice(&error));
                }
                if !matches!(
                    error,
                    StoreError::HubUnreachable { .. }
                        | StoreError::HubLost(_)
                        | StoreError::HubSilent(_)
                        | StoreError::LeaseLost { .. }
                ) && position.is_none()
                {
                    return;
                }
                sleep(AGAIN).await;
                continue;
            }
        };
        let mut log = Log::from(&sessions, id, position.unwrap_or(end));
        tokio::select! {
            () = lease.lost() => {}
            () = take_all(&mut log, &reception) => {}
        }
        position = Some(log.position);
    }
}

/// Returns the notice about a hub that this session cannot join. The names of its lease mean nothing to a
/// person.
fn notice(error: &StoreError) -> String {
    let line = "sessions on other machines cannot write to this one";
    match error {
        StoreError::LeaseLost { .. } => {
            format!("{line}: it had no contact with the hub for too long")
        }
        error => format!("{line}: {error}"),
    }
}

/// Takes the messages of a log. Does not return.
async fn take_all(log: &mut Log, reception: &Reception) {
    let mut answers = JoinSet::new();
    loop {
        let frames = log.read().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "messages on the hub not read");
            Vec::new()
        });
        for frame in frames {
            if let PeerFrame::Message(message) = frame {
                let (first, last) = reception.take(from_elsewhere(message));
                let (sessions, id) = (log.sessions.clone(), log.id);
                answers.spawn(async move {
                    answer(&sessions, id, first).await;
                    if let Some(last) = last {
                        answer(&sessions, id, last.await).await;
                    }
                });
            }
        }
        tokio::select! {
            () = log.changes.changed() => {}
            Some(_) = answers.join_next() => {}
        }
    }
}

/// A sender on a hub is never taken for this machine's user or one of its sessions.
fn from_elsewhere(mut message: PeerMessage) -> PeerMessage {
    let is_bridge = PeerAddress::parse(&message.from).is_some_and(PeerAddress::is_bridge);
    let of_person = format!("{PERSON_SENDER}@");
    if !is_bridge && !message.from.starts_with(&of_person) {
        message.from = format!("{of_person}unknown");
    }
    message
}

/// The sender may not wait any more.
async fn answer(sessions: &Sessions, id: SessionId, status: PeerStatus) {
    if let Err(error) = sessions.append(id, PeerFrame::Status(status)).await {
        tracing::warn!(%error, "a session on another machine got no answer");
    }
}

/// The log of a session, as one process reads it.
pub(super) struct Log {
    sessions: Sessions,
    id: SessionId,
    changes: Changes,
    position: u64,
}

impl Log {
    pub(super) fn from(sessions: &Sessions, id: SessionId, position: u64) -> Self {
        Self {
            changes: sessions.watch(id),
            sessions: sessions.clone(),
            id,
            position,
        }
    }

    /// Returns the frames since the last call.
    async fn read(&mut self) -> Result<Vec<PeerFrame>, StoreError> {
        let (frames, next) = self.sessions.frames(self.id, self.position).await?;
        self.position = next;
        Ok(frames)
    }

    /// Returns the next answer to a message.
    pub(super) async fn answer_to(
        &mut self,
        message: &PeerMessage,
    ) -> Result<PeerStatus, StoreError> {
        loop {
            let frames = self.read().await?;
            let last = frames.into_iter().rev().find_map(|frame| match frame {
                PeerFrame::Status(status) if status.msg_id == message.msg_id => Some(status),
                _ => None,
            });
            match last {
                Some(status) => return Ok(status),
                None => self.changes.changed().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{MemberName, TeamName};

    use super::*;

    #[test]
    fn a_notice_about_a_lost_lease_names_nothing_internal() {
        let lost = StoreError::LeaseLost {
            team: TeamName::nodes(),
            name: MemberName::lead(),
        };
        assert_eq!(
            notice(&lost),
            "sessions on other machines cannot write to this one: it had no contact with the hub for too long"
        );
    }
}
