//! The next step after a response of the model.

use serde_json::Value;
use swarm_model::{ContentBlock, ModelResponse, StopReason};

use crate::AgentError;

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: CallInput,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallInput {
    Object(Value),
    /// Not a JSON object, exactly as the model wrote it.
    Unreadable(String),
    /// The response was cut off in this call, so that even an object may be incomplete.
    CutOff,
}

#[derive(Debug)]
pub(super) enum Step {
    /// Run the calls and send another request.
    Run(Vec<Call>),
    /// The turn is over.
    Finish,
    /// The response was cut off at the output limit in the middle of its text.
    CutOff,
    /// Send the same conversation again, because the server paused.
    Resume,
    /// The turn fails. The calls are not run.
    Give(AgentError, Vec<Call>),
}

pub(super) fn next(response: &ModelResponse) -> Step {
    let mut calls: Vec<Call> = response.content.iter().filter_map(call).collect();
    match &response.stop_reason {
        StopReason::Refusal => {
            let text = response.text();
            Step::Give(AgentError::Refused(text), calls)
        }
        StopReason::ModelContextWindowExceeded => Step::Give(AgentError::ContextFull, calls),
        StopReason::MaxTokens => {
            let cut_in_call = matches!(response.content.last(), Some(ContentBlock::ToolUse { .. }));
            if let (true, Some(last)) = (cut_in_call, calls.last_mut()) {
                last.input = CallInput::CutOff;
            }
            if calls.is_empty() {
                Step::CutOff
            } else {
                Step::Run(calls)
            }
        }
        _ if !calls.is_empty() => Step::Run(calls),
        StopReason::PauseTurn => Step::Resume,
        _ => Step::Finish,
    }
}

fn call(block: &ContentBlock) -> Option<Call> {
    let ContentBlock::ToolUse { id, name, input } = block else {
        return None;
    };
    let input = match input {
        Value::Object(_) => CallInput::Object(input.clone()),
        Value::String(raw) => CallInput::Unreadable(raw.clone()),
        other => CallInput::Unreadable(other.to_string()),
    };
    Some(Call {
        id: id.clone(),
        tool: name.clone(),
        input,
    })
}
