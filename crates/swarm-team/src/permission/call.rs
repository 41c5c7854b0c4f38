//! A call that needs a yes, and what came of asking.

use serde::Deserialize;
use serde_json::Value;
use swarm_policy::Suggestion;
use swarm_protocol::{Answer, PermissionResponse, PermissionResult, input_digest};

/// A call that waits for a yes.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedCall {
    /// The tool.
    pub tool: String,
    /// Id of the call in the model's message.
    pub tool_use_id: String,
    /// The exact input.
    pub input: Value,
    /// The call in one line.
    pub description: String,
    /// Grants that would save the next such question.
    pub suggestions: Vec<Suggestion>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionAnswer {
    /// The call may be made, with this input, and with these grants for the session.
    Allowed {
        /// Replaces the call's input.
        updated_input: Option<Value>,
        /// Grants; those of a kind that is not known here are left out.
        updates: Vec<Suggestion>,
    },
    /// It may not; the model is told why.
    Denied(String),
}

impl PermissionAnswer {
    /// Reads a response as the answer to `call`. An approval that is bound to another call is a refusal; one that
    /// is bound to none comes from an older lead and counts.
    pub fn of(response: &PermissionResponse, call: &AskedCall) -> Self {
        match &response.result {
            PermissionResult::Error { error } => Self::Denied(error.clone()),
            PermissionResult::Success { response: content } => {
                let bound = response.approved_request.as_ref().is_none_or(|approved| {
                    approved.tool_name == call.tool
                        && approved.tool_use_id == call.tool_use_id
                        && approved.input_digest == input_digest(&call.tool, &call.input)
                });
                if !bound {
                    return Self::Denied(
                        "The approval was for another call, so this one was not made.".to_owned(),
                    );
                }
                let field = |name: &str| {
                    content
                        .as_ref()
                        .and_then(|content| content.get(name))
                        .filter(|value| !value.is_null())
                        .cloned()
                };
                let updates = match field("permission_updates") {
                    Some(Value::Array(updates)) => updates
                        .iter()
                        .filter_map(|update| Suggestion::deserialize(update).ok())
                        .collect(),
                    _ => Vec::new(),
                };
                Self::Allowed {
                    updated_input: field("updated_input"),
                    updates,
                }
            }
        }
    }

    /// The same for this one call: the grants are left out.
    #[must_use]
    pub(super) fn once(mut self) -> Self {
        if let Self::Allowed { updates, .. } = &mut self {
            updates.clear();
        }
        self
    }

    /// The answer as the queue records it.
    pub(super) fn for_the_record(&self) -> Answer {
        match self {
            Self::Allowed { updates, .. } => Answer::Approved {
                always: !updates.is_empty(),
            },
            Self::Denied(why) => Answer::Denied {
                why: Some(why.clone()),
            },
        }
    }
}
