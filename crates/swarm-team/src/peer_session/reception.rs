//! What a session does with the messages of others, on whatever way they arrive.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_protocol::{
    LONGEST_FRAME, LifeRecord, PeerDelivery, PeerInbound, PeerMessage, PeerMode, PeerRecord,
    PeerStatus, partial_debug,
};
use swarm_store::Sessions;
use tokio::sync::oneshot;

/// How many messages one session accepts within [`BURST_TIME`], as in Claude Code.
const BURST: usize = 30;
const BURST_TIME: Duration = Duration::from_secs(10);

/// How many messages wait for the model and for the person, as in Claude Code.
const QUEUE: usize = 50;
const HELD: usize = 100;

/// Where a session's messages go.
pub trait PeerInbox: Send + Sync + fmt::Debug {
    /// Returns how many messages wait for the model, and how many are held.
    fn waiting(&self) -> (usize, usize);

    /// Adds a message. The receiver resolves when it is in the transcript on disk; its sender is
    /// dropped if the session ends before.
    fn add(&self, message: PeerMessage, hold: bool) -> oneshot::Receiver<()>;

    /// Shows a line to the person.
    fn notice(&self, line: String);
}

/// Where sessions on other machines find a session.
#[derive(Debug, Clone)]
pub struct HubPlace {
    /// The sessions of the hub.
    pub sessions: Sessions,
    /// The process of the session.
    pub process: LifeRecord,
}

/// What a session listens with.
pub struct PeerListener {
    /// Directory of the records.
    pub directory: PathBuf,
    /// Directory of the records of Claude Code's sessions.
    pub claude_sessions: PathBuf,
    /// Its own record.
    pub record: PeerRecord,
    /// Where sessions on other machines find it; `None` without a hub.
    pub hub: Option<HubPlace>,
    /// What happens to messages.
    pub inbound: PeerInbound,
    /// Returns the current mode.
    pub mode: Box<dyn Fn() -> PeerMode + Send + Sync>,
    /// Where they go.
    pub inbox: Arc<dyn PeerInbox>,
}

partial_debug!(PeerListener: socket = record.socket, inbound = inbound);

/// Decides about messages and keeps count of them.
pub(super) struct Reception {
    listener: PeerListener,
    recent: Mutex<VecDeque<Instant>>,
}

impl Reception {
    pub(super) fn of(listener: PeerListener) -> Self {
        Self {
            listener,
            recent: Mutex::default(),
        }
    }

    /// Shows a line to the person.
    pub(super) fn notice(&self, line: String) {
        self.listener.inbox.notice(line);
    }

    /// Takes a message, or refuses it. Returns the first answer, and what resolves to the last one
    /// if there is another.
    pub(super) fn take(
        &self,
        message: PeerMessage,
    ) -> (
        PeerStatus,
        Option<impl Future<Output = PeerStatus> + Send + use<>>,
    ) {
        let msg_id = message.msg_id.clone();
        let answer = move |status| PeerStatus {
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
                return (refused, None);
            }
        };
        let delivered = self.listener.inbox.add(message, hold);
        let first = if hold {
            PeerDelivery::Held
        } else {
            PeerDelivery::Queued
        };
        let first = answer(first);
        let last = async move {
            match delivered.await {
                Ok(()) => answer(PeerDelivery::Delivered),
                Err(_) => PeerStatus {
                    drop_reason: Some("the session ended before it read the message".to_owned()),
                    ..answer(PeerDelivery::Expired)
                },
            }
        };
        (first, Some(last))
    }

    /// Returns whether a message is held, or why it is refused.
    fn refusal(&self, message: &PeerMessage) -> Result<bool, String> {
        if message.text.trim().is_empty() {
            return Err("the message is empty".to_owned());
        }
        if message.text.chars().count() > LONGEST_FRAME {
            return Err(format!("it has more than {LONGEST_FRAME} characters"));
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
