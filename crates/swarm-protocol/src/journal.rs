//! `journal.jsonl`: what happened in a team, one event a line, append-only.

use serde::{Deserialize, Serialize};

use crate::{MemberName, MessageId, RequestId, SpawnId, TaskId, TaskState, UnixMs, Usage};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// When.
    pub at: UnixMs,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// What can happen. Bodies of messages are not repeated here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// The team was made.
    TeamCreated {
        /// By whom.
        by: String,
    },
    /// A place in the roster was reserved.
    SpawnReserved {
        /// For whom.
        member: MemberName,
        /// Which spawn.
        spawn_id: SpawnId,
    },
    /// Hello matched; the member is in.
    SpawnCommitted {
        /// Who.
        member: MemberName,
        /// Which spawn.
        spawn_id: SpawnId,
        /// Its pid.
        pid: u32,
    },
    /// A spawn failed or lapsed; its reservation was undone.
    SpawnAborted {
        /// Who.
        member: MemberName,
        /// Which spawn.
        spawn_id: SpawnId,
        /// Why.
        reason: String,
    },
    /// A message was put into an inbox.
    Queued {
        /// Its id.
        msg_id: MessageId,
        /// Sender.
        from: String,
        /// Receiver.
        to: MemberName,
        /// A few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The control frame's type, when it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<String>,
    },
    /// A message is in the receiver's durable transcript.
    Delivered {
        /// Its id.
        msg_id: MessageId,
        /// Receiver.
        to: MemberName,
    },
    /// Elements of an inbox that are no entries were set aside.
    MalformedMail {
        /// Whose inbox.
        to: MemberName,
        /// How many.
        count: usize,
        /// Where they are kept.
        kept: String,
    },
    /// A file was damaged as a whole and was set aside before it was written again.
    FileDamaged {
        /// Which.
        file: String,
        /// Where it is kept.
        kept: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A task was made.
    TaskCreated {
        /// Which.
        task: TaskId,
        /// Its title.
        subject: String,
        /// By whom.
        by: String,
    },
    /// A task changed its state or owner.
    TaskChanged {
        /// Which.
        task: TaskId,
        /// From which state.
        from: TaskState,
        /// To which.
        to: TaskState,
        /// Its owner afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        /// By whom.
        by: String,
    },
    /// A task was deleted.
    TaskDeleted {
        /// Which.
        task: TaskId,
        /// By whom.
        by: String,
    },
    /// A request was put into the queue.
    RequestOpened {
        /// Which.
        request: RequestId,
        /// By whom.
        from: MemberName,
        /// For which tool.
        tool: String,
    },
    /// A request was answered.
    RequestAnswered {
        /// Which.
        request: RequestId,
        /// `approved`, `denied` or `expired`.
        answer: String,
    },
    /// A turn ended.
    TurnEnded {
        /// Whose.
        member: MemberName,
        /// `finished`, `failed`, `interrupted` or `turn_limit`.
        outcome: String,
        /// Tokens of the turn.
        usage: Usage,
        /// Name of the model.
        model: String,
    },
    /// A member was asked to stop.
    ShutdownRequested {
        /// Who.
        member: MemberName,
        /// The request.
        request: RequestId,
    },
    /// A member refused to stop.
    ShutdownRejected {
        /// Who.
        member: MemberName,
        /// Why.
        reason: String,
    },
    /// A member ended as it was asked to.
    MemberStopped {
        /// Who.
        member: MemberName,
        /// Which spawn.
        spawn_id: SpawnId,
        /// `approved`, `terminated` or `killed`.
        how: String,
    },
    /// A member ended by itself.
    MemberDied {
        /// Who.
        member: MemberName,
        /// Which spawn.
        spawn_id: SpawnId,
        /// What is known of the reason.
        reason: String,
        /// Tasks that were given back.
        released: Vec<TaskId>,
    },
    /// The team was deleted.
    TeamDeleted {
        /// By whom.
        by: String,
    },
    /// An event of a later version.
    #[serde(other)]
    Unknown,
}
