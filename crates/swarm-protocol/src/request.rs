//! The queue of requests that wait for a person: `swarm/requests/<id>.json`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    LEAD_AGENT, LEAD_NAME, MemberName, PERSON, PermissionMode, RequestId, SYSTEM_SENDER, SpawnId,
    UnixMs, input_digest,
};

/// The tool with which a plan is put forward.
pub const PLAN_TOOL: &str = "ExitPlanMode";

/// What a request to reach a host is called where others have the name of a tool.
const NETWORK: &str = "network";

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RequestKind {
    /// May this call be made?
    #[serde(rename_all = "camelCase")]
    Permission {
        /// The tool.
        tool: String,
        /// Id of the call in the model's message.
        tool_use_id: String,
        /// The exact input.
        input: Value,
        /// [`crate::input_digest`] of tool and input; the answer is bound to it.
        digest: String,
        /// Rules or modes that would answer this and similar calls, in Claude Code's shape.
        #[serde(default)]
        suggestions: Vec<Value>,
    },
    /// May this plan be carried out?
    #[serde(rename_all = "camelCase")]
    Plan {
        /// The plan.
        plan: String,
        /// The file that holds it.
        plan_file_path: String,
        /// The mode in which it is carried out.
        #[serde(default)]
        mode: PermissionMode,
    },
    /// May a sandboxed command reach this host?
    Sandbox {
        /// The host, possibly with wildcards.
        host: String,
    },
}

impl RequestKind {
    /// The tool that is to be called, or a word for what is asked.
    pub fn tool(&self) -> &str {
        match self {
            RequestKind::Permission { tool, .. } => tool,
            RequestKind::Plan { .. } => PLAN_TOOL,
            RequestKind::Sandbox { .. } => NETWORK,
        }
    }

    /// Everything that is agreed to with a yes, as the input of a call.
    pub fn input(&self) -> Cow<'_, Value> {
        match self {
            RequestKind::Permission { input, .. } => Cow::Borrowed(input),
            RequestKind::Plan { plan, .. } => Cow::Owned(json!({ "plan": plan })),
            RequestKind::Sandbox { host } => Cow::Owned(json!({ "host": host })),
        }
    }

    /// [`input_digest`] of what is asked. The one that a file names is not used: it may be another call's.
    pub fn computed_digest(&self) -> String {
        input_digest(self.tool(), &self.input())
    }

    /// Rules or modes that would answer this and similar calls.
    pub fn suggestions(&self) -> &[Value] {
        match self {
            RequestKind::Permission { suggestions, .. } => suggestions,
            RequestKind::Plan { .. } | RequestKind::Sandbox { .. } => &[],
        }
    }
}

/// A request on file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    /// Its id.
    pub id: RequestId,
    /// Its number in the team, from 1, given by the queue and never used again. People name it `p3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Who asks.
    pub from: MemberName,
    /// Which spawn of that member; a member of another program has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
    /// What.
    #[serde(flatten)]
    pub request: RequestKind,
    /// One line that says what the call does.
    pub description: String,
    /// Why it is asked about: the rule or the mode.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Since when.
    pub asked_at: UnixMs,
    /// When silence becomes no; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<UnixMs>,
    /// Open, or answered.
    pub state: RequestState,
}

impl RequestRecord {
    /// The word by which people name it: `p3`, or a part of its id where it has no number.
    pub fn short(&self) -> Cow<'_, str> {
        match self.number {
            Some(number) => Cow::Owned(format!("p{number}")),
            None => Cow::Borrowed(self.id.short()),
        }
    }
}

/// Where a request stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RequestState {
    /// Waits.
    Open,
    /// Has its one answer.
    Answered {
        /// The answer.
        answer: Answer,
        /// When.
        at: UnixMs,
    },
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Yes; `always` also takes the suggested rule for the rest of the member's session.
    Approved {
        /// Whether the suggested rules are taken too.
        #[serde(default)]
        always: bool,
        /// The input that a person has put in the place of the one that was asked about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_input: Option<Value>,
    },
    /// A person's own words: to a call that asks them, or with a yes to a plan.
    Answered {
        /// One answer for each question, in their order; one text for a plan.
        answers: Vec<String>,
    },
    /// No.
    Denied {
        /// What the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
}

impl Answer {
    /// Yes, to this one call as it was asked.
    pub fn once() -> Self {
        Self::Approved {
            always: false,
            updated_input: None,
        }
    }
}

/// Who answered a request, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnsweredBy {
    /// `person`, `lead-agent` (the model of the lead), `team-lead` (the lead of another program, by mail), or `system`:
    /// nobody answered in time, or nobody waits for the answer any more.
    pub by: String,
    /// The process that gave a person's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The user who ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl AnsweredBy {
    /// A person, through this process.
    pub fn person(pid: u32, user: Option<&str>) -> Self {
        Self {
            by: PERSON.to_owned(),
            pid: Some(pid),
            user: user.map(str::to_owned),
        }
    }

    /// The lead, by mail.
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
