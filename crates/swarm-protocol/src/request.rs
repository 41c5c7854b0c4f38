//! Pending requests: their queue `swarm/requests/<id>.json`, and where they are answered.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    LEAD_AGENT, LEAD_NAME, MemberName, MessageId, PERSON, PermissionMode, RequestId, SYSTEM_SENDER,
    SpawnId, UnixMs, input_digest,
};

/// The tool that submits a plan.
pub const PLAN_TOOL: &str = "ExitPlanMode";

/// Stands for the tool name in a request for network access.
pub const NETWORK_ACCESS: &str = "network";

/// What is requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RequestKind {
    /// Permission for a tool call.
    #[serde(rename_all = "camelCase")]
    Permission {
        /// Name of the tool.
        tool: String,
        /// Id of the call in the model's message.
        tool_use_id: String,
        /// Exact input of the call.
        input: Value,
        /// [`crate::input_digest`] of tool and input, to which the answer is bound.
        digest: String,
        /// Rules or modes that would cover this and similar calls, in Claude Code's format.
        #[serde(default)]
        suggestions: Vec<Value>,
    },
    /// Approval of a plan.
    #[serde(rename_all = "camelCase")]
    Plan {
        /// Text of the plan.
        plan: String,
        /// Path of the plan file.
        plan_file_path: String,
        /// Mode in which to carry it out.
        #[serde(default)]
        mode: PermissionMode,
    },
    /// Network access to a host for a sandboxed command.
    Sandbox {
        /// Host name, optionally with wildcards.
        host: String,
    },
}

impl RequestKind {
    /// Returns the name of the tool, or a word for the kind of request.
    pub fn tool(&self) -> &str {
        match self {
            RequestKind::Permission { tool, .. } => tool,
            RequestKind::Plan { .. } => PLAN_TOOL,
            RequestKind::Sandbox { .. } => NETWORK_ACCESS,
        }
    }

    /// Returns the `type` of the frame that answers it.
    pub fn response_type(&self) -> &'static str {
        match self {
            RequestKind::Permission { .. } => "permission_response",
            RequestKind::Plan { .. } => "plan_approval_response",
            RequestKind::Sandbox { .. } => "sandbox_permission_response",
        }
    }

    /// Returns everything that an approval covers, as the input of a call.
    pub fn input(&self) -> Cow<'_, Value> {
        match self {
            RequestKind::Permission { input, .. } => Cow::Borrowed(input),
            RequestKind::Plan { plan, .. } => Cow::Owned(json!({ "plan": plan })),
            RequestKind::Sandbox { host } => Cow::Owned(json!({ "host": host })),
        }
    }

    /// Computes [`input_digest`] of the request. The digest in the file is not used: it may belong
    /// to another call.
    pub fn computed_digest(&self) -> String {
        input_digest(self.tool(), &self.input())
    }

    /// Returns the rules or modes that would cover this and similar calls.
    pub fn suggestions(&self) -> &[Value] {
        match self {
            RequestKind::Permission { suggestions, .. } => suggestions,
            RequestKind::Plan { .. } | RequestKind::Sandbox { .. } => &[],
        }
    }
}

/// A request as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    /// Id of the request.
    pub id: RequestId,
    /// Number in the team, from 1, assigned by the queue and never reused. Shown as `p3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Name of the requester.
    pub from: MemberName,
    /// Spawn of the requester; absent for a member of another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
    /// What is requested.
    #[serde(flatten)]
    pub request: RequestKind,
    /// One-line description of the call.
    pub description: String,
    /// Rule or mode that requires approval.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Time of the request, on a hub by the server's clock.
    pub asked_at: UnixMs,
    /// Time at which it is denied automatically; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<UnixMs>,
    /// Open or answered.
    pub state: RequestState,
}

impl RequestRecord {
    /// Returns an open request of a member of another program, without a description and a
    /// deadline.
    pub fn open(id: RequestId, from: MemberName, request: RequestKind, asked_at: UnixMs) -> Self {
        Self {
            id,
            number: None,
            from,
            spawn_id: None,
            request,
            description: String::new(),
            why: String::new(),
            asked_at,
            deadline: None,
            state: RequestState::Open,
        }
    }

    /// Returns the short name: `p3`, or a part of the id if it has no number.
    pub fn short(&self) -> Cow<'_, str> {
        match self.number {
            Some(number) => Cow::Owned(format!("p{number}")),
            None => Cow::Borrowed(self.id.short()),
        }
    }
}

/// State of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RequestState {
    /// Pending.
    Open,
    /// Answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// Time of the answer.
        at: UnixMs,
    },
}

/// Answer of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Approved; with `always` suggested rules also apply to the whole team, and a suggested mode or
    /// directory to the member alone.
    Approved {
        /// Whether the suggested rules are granted as well.
        #[serde(default)]
        always: bool,
        /// Modified input that replaces the original one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_input: Option<Value>,
    },
    /// Text from a person: the answers to a call that asks questions, or feedback on an approved
    /// plan.
    Answered {
        /// One answer for each question, in order; one text for a plan.
        answers: Vec<String>,
    },
    /// Denied.
    Denied {
        /// Message to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The deadline passed without an answer.
    Expired,
    /// The requester stopped waiting before the deadline.
    Withdrawn {
        /// Why it no longer waits.
        why: String,
    },
}

impl Answer {
    /// Returns whether the answer lets the requester do something.
    pub fn is_grant(&self) -> bool {
        matches!(self, Self::Approved { .. } | Self::Answered { .. })
    }

    /// Approves this one call as requested.
    pub fn once() -> Self {
        Self::Approved {
            always: false,
            updated_input: None,
        }
    }
}

/// Who answered a request, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnsweredBy {
    /// `person`, `lead-agent` (the lead's model), `team-lead` (the lead of another program, by
    /// message), or `system` (the deadline passed, or the requester no longer waits).
    pub by: String,
    /// Process through which a person answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// User who ran the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Host of the process, for a team on a hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Signature with the team's key, if the answer grants something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<GrantSignature>,
}

impl AnsweredBy {
    /// A person, through this process.
    pub fn person(pid: u32, user: Option<&str>) -> Self {
        Self {
            by: PERSON.to_owned(),
            pid: Some(pid),
            user: user.map(str::to_owned),
            host: None,
            signature: None,
        }
    }

    /// The lead, by message.
    pub fn lead() -> Self {
        Self {
            by: LEAD_NAME.to_owned(),
            ..Self::default()
        }
    }

    /// The lead's model.
    pub fn lead_agent() -> Self {
        Self {
            by: LEAD_AGENT.to_owned(),
            ..Self::default()
        }
    }

    /// The program itself.
    pub fn system() -> Self {
        Self {
            by: SYSTEM_SENDER.to_owned(),
            ..Self::default()
        }
    }
}

/// Whether permission requests can be answered in the terminals of a lead and of its members, in
/// addition to `swarm approve` and `swarm deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerInPlace {
    /// Only by commands in other terminals.
    #[default]
    Never,
    /// Yes, unless agents can type into the terminal.
    Auto,
    /// Yes, even if an agent's shell can type into it.
    Always,
}

/// The signature of a grant, in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantSignature {
    /// Id of the grant, never reused.
    pub id: MessageId,
    /// Time of the grant.
    pub at: UnixMs,
    /// Ed25519 signature in hex.
    pub value: String,
}
