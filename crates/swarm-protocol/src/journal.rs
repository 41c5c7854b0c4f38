//! `journal.jsonl`: what happened in a team, one event a line, append-only.

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
        /// The tmux server in which its pane will be opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        socket: Option<PathBuf>,
    },
    /// Hello matched; the member is in.
    SpawnCommitted {
        /// Who.
        member: MemberName,
        /// Which spawn.
        spawn_id: SpawnId,
        /// Its pid.
        pid: u32,
        /// What is in force in it.
        #[serde(flatten)]
        terms: Box<SpawnTerms>,
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
        /// What it is, when it is no prose of its sender.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<MarkKind>,
        /// Unread messages of the same sender that it took the place of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        superseded: Vec<MessageId>,
    },
    /// A message is in the receiver's durable transcript. After a crash right behind it, it may stand there twice.
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
        /// The task as it was written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<Box<Task>>,
    },
    /// A task was changed. Where `from` and `to` are the same, only other fields than its state were.
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
        /// The fields of its record that changed, as they are afterwards; `null` for one that is gone.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        set: Map<String, Value>,
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
        /// Its number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
        /// By whom.
        from: MemberName,
        /// For which tool.
        tool: String,
        /// The call in one line.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// The call's input as JSON text, cut when it is long.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        input: String,
    },
    /// A request was answered.
    RequestAnswered {
        /// Which.
        request: RequestId,
        /// Who asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<MemberName>,
        /// `approved`, `answered`, `denied` or `expired`.
        answer: String,
        /// Whether the suggested grants were taken, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        always: bool,
        /// Why it was denied, cut when it is long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// [`crate::input_digest`] of the call that was shown to whoever answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// The same of the input that a person put in the place of the one that was asked about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_digest: Option<String>,
        /// Who answered.
        #[serde(flatten)]
        by: AnsweredBy,
    },
    /// A member was told to change its permission mode.
    ModeSet {
        /// Who.
        member: MemberName,
        /// Which spawn; absent for a member of another program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spawn_id: Option<SpawnId>,
        /// The mode.
        mode: String,
        /// By whom.
        #[serde(flatten)]
        by: AnsweredBy,
    },
    /// A rule was given to everybody in the team, for as long as the team exists.
    TeamRuleAdded {
        /// The rule, which allows calls.
        rule: String,
        /// By whom.
        #[serde(flatten)]
        by: AnsweredBy,
    },
    /// Something that looked like the answer to a request was ignored: no command of a person entered it here.
    AnswerIgnored {
        /// The request, which still waits.
        request: RequestId,
        /// Who asked.
        member: MemberName,
        /// What is wrong with it.
        reason: String,
    },
    /// A turn ended.
    TurnEnded {
        /// Whose.
        member: MemberName,
        /// `finished`, `failed`, `interrupted`, `turn_limit`, or `suspended` where it will be taken up again.
        outcome: String,
        /// Tokens of the turn.
        usage: Usage,
        /// Name of the model.
        model: String,
    },
    /// A run of a sub-agent ended. What it used stands in no other event.
    SubAgentEnded {
        /// Whose sub-agent.
        member: MemberName,
        /// Which.
        agent: SubAgentId,
        /// Its type.
        agent_type: String,
        /// `completed`, `failed`, `killed` or `interrupted`.
        outcome: String,
        /// Tokens of the run.
        usage: Usage,
        /// The model's id at its provider.
        model: String,
    },
    /// A member's conversation was compacted.
    Compacted {
        /// Whose.
        member: MemberName,
        /// `auto` or `manual`.
        trigger: String,
        /// Tokens before.
        pre_tokens: u64,
        /// About how many there were behind it.
        tokens: u64,
    },
    /// A person asked for a compaction, and there was none.
    CompactionFailed {
        /// Whose.
        member: MemberName,
        /// Why.
        reason: String,
    },
    /// A member was asked to stop.
    ShutdownRequested {
        /// Who.
        member: MemberName,
        /// The request.
        request: RequestId,
        /// `person` or `team-lead`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        by: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member refused to stop.
    ShutdownRejected {
        /// Who.
        member: MemberName,
        /// Why.
        reason: String,
    },
    /// A member takes no more turns, since its lead is gone.
    MemberParked {
        /// Who.
        member: MemberName,
        /// What happened to the lead.
        reason: String,
    },
    /// A member takes no more turns, since a person wants so.
    MemberPaused {
        /// Who.
        member: MemberName,
        /// Who wants it.
        by: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member that was parked or paused takes turns again.
    MemberContinued {
        /// Who.
        member: MemberName,
        /// What it comes from: `parked` or `paused`.
        from: MemberState,
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
    /// Somebody took over a team whose lead was lost, or that had none.
    LeadTaken {
        /// `team-lead` where a process leads from now on, `person` where the team is driven by hand.
        by: String,
        /// The process that leads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
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

/// What is in force in a member whose spawn was committed. Every field is absent in events of earlier versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpawnTerms {
    /// Type of its definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Its model, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its permission mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Its isolated worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// How it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendType>,
    /// Its pane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane: Option<PaneId>,
}
