//! The queue of requests that wait for a person: `swarm/requests/<id>.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{LEAD_NAME, MemberName, PERSON, RequestId, SYSTEM_SENDER, SpawnId, UnixMs};

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
}

/// A request on file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    /// Its id.
    pub id: RequestId,
    /// Who asks.
    pub from: MemberName,
    /// Which spawn of that member.
    pub spawn_id: SpawnId,
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
    /// When silence becomes no.
    pub deadline: UnixMs,
    /// Open, or answered.
    pub state: RequestState,
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
    },
    /// A person's own words, to a call that asks them.
    Answered {
        /// One answer for each question, in their order.
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

/// Who answered a request, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnsweredBy {
    /// `person`, `team-lead` (the lead of another program, by mail), or `system`: nobody answered in time, or nobody
    /// waits for the answer any more.
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

    /// The program itself.
    pub fn system() -> Self {
        Self {
            by: SYSTEM_SENDER.to_owned(),
            ..Self::default()
        }
    }
}
