//! Assembles tool calls from the pieces of a stream.
//!
//! By the specification a call's first piece has its index, id and name, and later pieces have the
//! index and more of the input. Known deviations: Ollama (older versions omit the index, and a call
//! arrives in one piece); `LiteLLM` in front of some servers (every call has index 0); servers that
//! omit the id or repeat it for each call; llama-cpp-python (repeats id and name in every piece);
//! servers that send the input as an object.

use serde_json::Value;
use uuid::Uuid;

use super::piece::{CallPiece, FunctionPiece};
use crate::message::{ContentBlock, call_input};
use crate::model::ModelEvent;

/// Replaces a missing name: servers refuse an empty one when the conversation is sent back.
const MISSING_NAME: &str = "unnamed_tool";

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<PartialCall>);

#[derive(Debug)]
struct PartialCall {
    index: Option<u64>,
    /// As sent by the server; empty if it sent none.
    id: String,
    /// Unique within the answer.
    unique_id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a piece. Returns an event when the name of a call becomes known.
    pub(super) fn take(&mut self, piece: CallPiece) -> Option<ModelEvent> {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.unwrap_or_default();
        let name = function.name.clone().unwrap_or_default();
        let more = arguments(&function);
        let at = match self.find(piece.index, &id, &name, &more) {
            Some(at) => at,
            None => self.begin(piece.index, id),
        };
        let call = &mut self.0[at];
        call.arguments.push_str(&more);
        if !call.name.is_empty() || name.is_empty() {
            return None;
        }
        call.name = name;
        Some(ModelEvent::ToolUseStarted {
            id: call.unique_id.clone(),
            name: call.name.clone(),
        })
    }

    /// Returns the position of the call that a piece continues.
    fn find(&self, index: Option<u64>, id: &str, name: &str, more: &str) -> Option<usize> {
        let at = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index)?,
            None if !id.is_empty() => self.0.iter().rposition(|call| call.id == id)?,
            None => self.0.len().checked_sub(1)?,
        };
        (!self.0[at].is_followed_by_new_call(id, name, more)).then_some(at)
    }

    fn begin(&mut self, index: Option<u64>, id: String) -> usize {
        let is_taken = self.0.iter().any(|call| call.unique_id == id);
        let unique_id = if id.is_empty() || is_taken {
            format!("call_{}", Uuid::new_v4().simple())
        } else {
            id.clone()
        };
        self.0.push(PartialCall {
            index,
            id,
            unique_id,
            name: String::new(),
            arguments: String::new(),
        });
        self.0.len() - 1
    }

    /// Converts the calls to content blocks. A truncated call keeps the input received so far.
    pub(super) fn into_content(self) -> impl Iterator<Item = ContentBlock> {
        self.0.into_iter().map(|call| ContentBlock::ToolUse {
            id: call.unique_id,
            input: input(call.arguments),
            name: if call.name.is_empty() {
                MISSING_NAME.to_owned()
            } else {
                call.name
            },
        })
    }
}

impl PartialCall {
    /// Whether a piece at this call's position begins another call: it has a name, which only a
    /// first piece needs, and either a different id or the start of an input although this call's
    /// input is already complete. White space after a complete input does not count as a start:
    /// llama-cpp-python sends it in pieces with id and name.
    fn is_followed_by_new_call(&self, id: &str, name: &str, more: &str) -> bool {
        if name.is_empty() || self.name.is_empty() {
            return false;
        }
        let has_other_id = !id.is_empty() && !self.id.is_empty() && id != self.id;
        let is_whole = || serde_json::from_str::<Value>(&self.arguments).is_ok();
        has_other_id || (more.trim_start().starts_with('{') && is_whole())
    }
}

fn arguments(function: &FunctionPiece) -> String {
    match &function.arguments {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Parses the input of a call. Some models write `null` for an empty input, or encode the object as
/// a JSON string.
fn input(arguments: String) -> Value {
    match serde_json::from_str::<Value>(&arguments) {
        Ok(Value::Null) => call_input(String::new()),
        Ok(Value::String(inner)) => match call_input(inner) {
            object @ Value::Object(_) => object,
            _ => Value::String(arguments),
        },
        _ => call_input(arguments),
    }
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
