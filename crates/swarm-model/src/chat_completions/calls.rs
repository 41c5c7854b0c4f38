//! Puts tool calls together from their pieces.
//!
//! By the book a call's first piece has its index, id and name, and the others its index and more of its input. Known to
//! differ: Ollama, which left the index out for long and sends a call whole; `LiteLLM` before some servers, which gives
//! every call index 0; servers that leave the id out or repeat it for each call; llama-cpp-python, which repeats id and name in
//! every piece; servers that send the input as an object.

use serde_json::Value;
use uuid::Uuid;

use super::piece::{CallPiece, FunctionPiece};
use crate::message::{ContentBlock, call_input};
use crate::model::ModelEvent;

/// Stands for the name of a call that has none: servers refuse an empty one when the conversation comes back to them.
const NAMELESS: &str = "unnamed_tool";

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<GrowingCall>);

#[derive(Debug)]
struct GrowingCall {
    index: Option<u64>,
    /// As the server gave it; empty if it did not.
    id: String,
    /// Unlike that of any other call of the answer.
    own_id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a piece in. Gives an event when a call has got its name.
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
            id: call.own_id.clone(),
            name: call.name.clone(),
        })
    }

    /// The call that a piece continues.
    fn find(&self, index: Option<u64>, id: &str, name: &str, more: &str) -> Option<usize> {
        let at = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index)?,
            None if !id.is_empty() => self.0.iter().rposition(|call| call.id == id)?,
            None => self.0.len().checked_sub(1)?,
        };
        (!self.0[at].is_succeeded_by(id, name, more)).then_some(at)
    }

    fn begin(&mut self, index: Option<u64>, id: String) -> usize {
        let is_taken = self.0.iter().any(|call| call.own_id == id);
        let own_id = if id.is_empty() || is_taken {
            format!("call_{}", Uuid::new_v4().simple())
        } else {
            id.clone()
        };
        self.0.push(GrowingCall {
            index,
            id,
            own_id,
            name: String::new(),
            arguments: String::new(),
        });
        self.0.len() - 1
    }

    /// The calls as content. One that was cut off has what came of it.
    pub(super) fn into_content(self) -> impl Iterator<Item = ContentBlock> {
        self.0.into_iter().map(|call| ContentBlock::ToolUse {
            id: call.own_id,
            input: input(call.arguments),
            name: if call.name.is_empty() {
                NAMELESS.to_owned()
            } else {
                call.name
            },
        })
    }
}

impl GrowingCall {
    /// Whether a piece that claims this call's place begins another call: it has a name as only the first piece of a call
    /// needs one, and either an id of its own, or the start of an input although this call's is whole already. White space
    /// behind a whole input is no start: llama-cpp-python sends it in pieces with id and name.
    fn is_succeeded_by(&self, id: &str, name: &str, more: &str) -> bool {
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

/// Models served this way write `null` for no input now and then, and write an object as JSON within JSON.
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
