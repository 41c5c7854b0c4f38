//! `journal.jsonl`: the events of a team, one per line, append-only.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AnsweredBy, BackendType, MarkKind, MemberName, MemberState, MessageId, PaneId, RequestId,
    SpawnId, SubAgentId, Task, TaskId, TaskState, UnixMs, Usage,
};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Time of the event.
    pub at: UnixMs,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// The event types. Message bodies are not recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// The team was created.
    TeamCreated {
        /// Name of the creator.
        by: String,
    },
    /// swarm added its private directory to a team that another program created.
    TeamAdopted {
        /// Agent id of the lead.
        by: String,
    },
    /// A member that joined by itself was added to the roster.
    MemberAdded {
        /// Name of the member.
        member: MemberName,
    },
    /// A roster entry was reserved.
    SpawnReserved {
        /// Name of the member.
        member: MemberName,
        /// Spawn of the member.
        spawn_id: SpawnId,
        /// tmux server in which the pane will be opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        socket: Option<PathBuf>,
    },
    /// The member's hello matched the request; the member has joined.
    SpawnCommitted {
        /// Name of the member.
        member: MemberName,
        /// Spawn of the member.
        spawn_id: SpawnId,
        /// Process id of the member.
        pid: u32,
        /// Settings in force in the member.
        #[serde(flatten)]
        terms: Box<SpawnTerms>,
    },
    /// A spawn failed or expired; its reservation was removed.
    SpawnAborted {
        /// Name of the member.
        member: MemberName,
        /// Spawn of the member.
        spawn_id: SpawnId,
        /// Reason.
        reason: String,
    },
    /// A message was added to an inbox.
    Queued {
        /// Id of the message.
        msg_id: MessageId,
        /// Name of the sender.
        from: String,
        /// Name of the recipient.
        to: MemberName,
        /// Short summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Type of the control frame, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<String>,
        /// Kind of message, if it is not prose of its sender.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<MarkKind>,
        /// Unread messages of the same sender that it replaced.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        superseded: Vec<MessageId>,
    },
    /// A message is in the receiver's durable transcript. After a crash directly afterwards it may
    /// be recorded twice.
    Delivered {
        /// Id of the message.
        msg_id: MessageId,
        /// Name of the recipient.
        to: MemberName,
    },
    /// Malformed inbox elements were moved aside.
    MalformedMail {
        /// Owner of the inbox.
        to: MemberName,
        /// Number of elements.
        count: usize,
        /// Path of the copy.
        kept: String,
    },
    /// A damaged file was moved aside before it was rewritten.
    FileDamaged {
        /// Path of the file.
        file: String,
        /// Its owner, if it is an inbox.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inbox: Option<MemberName>,
        /// Path of the copy.
        kept: String,
        /// Parse error.
        reason: String,
    },
    /// A task was created.
    TaskCreated {
        /// Id of the task.
        task: TaskId,
        /// Title of the task.
        subject: String,
        /// Name of the creator.
        by: String,
        /// The task as written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<Box<Task>>,
    },
    /// A task was changed. Equal `from` and `to` mean that only other fields changed.
    TaskChanged {
        /// Id of the task.
        task: TaskId,
        /// State before the change.
        from: TaskState,
        /// State after the change.
        to: TaskState,
        /// Owner after the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        /// Name of the actor.
        by: String,
        /// New values of the changed fields; `null` for a removed field.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        set: Map<String, Value>,
    },
    /// A task was deleted.
    TaskDeleted {
        /// Id of the task.
        task: TaskId,
        /// Name of the actor.
        by: String,
    },
    /// A request was added to the queue.
    RequestOpened {
        /// Id of the request.
        request: RequestId,
        /// Number of the request in its team.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
        /// Name of the requester.
        from: MemberName,
        /// Name of the tool.
        tool: String,
        /// One-line description of the call.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// Input of the call as JSON text, truncated if long.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        input: String,
        /// [`crate::input_digest`] of the whole call.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        digest: String,
    },
    /// A request was answered.
    RequestAnswered {
        /// Id of the request.
        request: RequestId,
        /// Name of the requester.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<MemberName>,
        /// `approved`, `answered`, `denied`, `expired` or `withdrawn`.
        answer: String,
        /// Whether the suggested rules were granted as well.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        always: bool,
        /// Reason for the denial or the withdrawal, truncated if long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Answers to questions, or the remark to a plan, each truncated if long.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
        /// [`crate::input_digest`] of the call as shown to the person who answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// Digest of the modified input, if a person changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_digest: Option<String>,
        /// The modified input as JSON text, truncated if long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_input: Option<String>,
        /// Who answered.
        #[serde(flatten)]
        by: AnsweredBy,
    },
    /// A member was instructed to change its permission mode.
    ModeSet {
        /// Name of the member.
        member: MemberName,
        /// Spawn of the member; absent for a member of another program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spawn_id: Option<SpawnId>,
        /// New mode.
        mode: String,
        /// Who set the mode.
        #[serde(flatten)]
        by: AnsweredBy,
    },
    /// A rule was granted to all members for the lifetime of the team.
    TeamRuleAdded {
        /// The rule, which allows calls.
        rule: String,
        /// Who granted the rule.
        #[serde(flatten)]
        by: AnsweredBy,
    },
    /// A rule that was granted to all members was revoked.
    TeamRuleRemoved {
        /// The rule.
        rule: String,
        /// Who revoked the rule.
        #[serde(flatten)]
        by: AnsweredBy,
    },
    /// An answer to a request was ignored because no command of a person recorded it; the request
    /// remains pending. Or its lead has ended, and may not have used the answer.
    AnswerIgnored {
        /// The request.
        request: RequestId,
        /// Name of the requester.
        member: MemberName,
        /// Reason for ignoring it.
        reason: String,
    },
    /// A turn ended.
    TurnEnded {
        /// Name of the member.
        member: MemberName,
        /// `finished`, `failed`, `interrupted`, `turn_limit`, or `suspended` if it will be resumed.
        outcome: String,
        /// Token usage of the turn.
        usage: Usage,
        /// Name of the model.
        model: String,
    },
    /// A run of a sub-agent ended. Its usage is not part of any other event.
    SubAgentEnded {
        /// Name of the parent member.
        member: MemberName,
        /// Id of the sub-agent.
        agent: SubAgentId,
        /// Agent type.
        agent_type: String,
        /// `completed`, `failed`, `killed` or `interrupted`.
        outcome: String,
        /// Token usage of the run.
        usage: Usage,
        /// Model id at the provider.
        model: String,
    },
    /// A member's conversation was compacted.
    Compacted {
        /// Name of the member.
        member: MemberName,
        /// `auto` or `manual`.
        trigger: String,
        /// Context size in tokens before the compaction.
        pre_tokens: u64,
        /// Estimated context size in tokens after the compaction.
        tokens: u64,
    },
    /// A compaction requested by a person failed.
    CompactionFailed {
        /// Name of the member.
        member: MemberName,
        /// Reason for the failure.
        reason: String,
    },
    /// A member was asked to stop.
    ShutdownRequested {
        /// Name of the member.
        member: MemberName,
        /// Id of the request.
        request: RequestId,
        /// `person` or `team-lead`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        by: String,
        /// Reason for the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member refused to stop.
    ShutdownRejected {
        /// Name of the member.
        member: MemberName,
        /// Reason for the refusal.
        reason: String,
    },
    /// A member was parked because its lead is gone.
    MemberParked {
        /// Name of the member.
        member: MemberName,
        /// What happened to the lead.
        reason: String,
    },
    /// A member was paused by a person.
    MemberPaused {
        /// Name of the member.
        member: MemberName,
        /// Who paused it.
        by: String,
        /// Reason for the pause.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A parked or paused member continues.
    MemberContinued {
        /// Name of the member.
        member: MemberName,
        /// Previous state: `parked` or `paused`.
        from: MemberState,
    },
    /// A member stopped on request.
    MemberStopped {
        /// Name of the member.
        member: MemberName,
        /// Spawn of the member.
        spawn_id: SpawnId,
        /// `approved`, `terminated` or `killed`.
        how: String,
    },
    /// A member exited unexpectedly.
    MemberDied {
        /// Name of the member.
        member: MemberName,
        /// Spawn of the member.
        spawn_id: SpawnId,
        /// Reason, as far as it is known.
        reason: String,
        /// Tasks that were released.
        released: Vec<TaskId>,
    },
    /// A process or a person took over a team without a lead.
    LeadTaken {
        /// `team-lead` if a process leads the team, `person` if it is led from the shell.
        by: String,
        /// Id of the lead's process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// The team was deleted.
    TeamDeleted {
        /// Name of the actor.
        by: String,
    },
    /// An event type of a later version.
    #[serde(other)]
    Unknown,
}

/// Settings in force in a member whose spawn was committed. All fields are absent in events of
/// earlier versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpawnTerms {
    /// Type of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Model as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Permission mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Isolated worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// Backend of the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendType>,
    /// Pane of the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane: Option<PaneId>,
}
