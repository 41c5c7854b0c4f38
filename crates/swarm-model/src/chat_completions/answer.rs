//! Assembles an answer from the chunks of a stream.

use serde::Deserialize as _;
use serde_json::Value;
use swarm_protocol::Usage;

use super::calls::Calls;
use super::piece::{Delta, Piece};
use crate::message::ContentBlock;
use crate::model::{ModelEvent, ModelResponse, StopReason};
use crate::remote::{Assembly, Refusal, Step};

/// Data of the event that ends a stream.
const DONE: &str = "[DONE]";

#[derive(Debug, Default)]
pub(crate) struct Answer {
    model: String,
    usage: Usage,
    finish_reason: Option<String>,
    thinking: String,
    text: String,
    has_refused: bool,
    calls: Calls,
}

impl Answer {
    /// Creates an empty answer to a request for `model`; the server may return a more specific
    /// name.
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            ..Self::default()
        }
    }

    fn grow(&mut self, mut delta: Delta, shown: &mut Vec<ModelEvent>) {
        let thinking = delta.thinking();
        if !thinking.is_empty() {
            self.thinking.push_str(&thinking);
            shown.push(ModelEvent::ThinkingDelta(thinking));
        }
        let refusal = delta.refusal.take().unwrap_or_default();
        self.has_refused |= !refusal.is_empty();
        for text in [delta.text(), refusal] {
            if !text.is_empty() {
                self.text.push_str(&text);
                shown.push(ModelEvent::TextDelta(text));
            }
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            shown.extend(self.calls.take(piece));
        }
    }

    /// Whether the content can be used as an answer although the server sent no finish reason.
    fn has_content(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    fn stop_reason(&self) -> StopReason {
        match self.finish_reason.as_deref() {
            Some("length" | "model_length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            _ if self.has_refused => StopReason::Refusal,
            // Many servers also send `stop` for tool calls, and some send `tool_calls` without any.
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            Some("stop" | "tool_calls" | "function_call") | None => StopReason::EndTurn,
            Some(other) => StopReason::Other(other.to_owned()),
        }
    }

    fn finish(&mut self) -> ModelResponse {
        let stop_reason = self.stop_reason();
        let mut content = Vec::new();
        if !self.thinking.is_empty() {
            content.push(ContentBlock::Thinking {
                thinking: std::mem::take(&mut self.thinking),
                signature: String::new(),
            });
        }
        if !self.text.is_empty() {
            content.push(ContentBlock::text(std::mem::take(&mut self.text)));
        }
        content.extend(std::mem::take(&mut self.calls).into_content());
        ModelResponse {
            content,
            stop_reason,
            usage: self.usage,
            model: std::mem::take(&mut self.model),
        }
    }
}

impl Assembly for Answer {
    fn take(&mut self, data: &str) -> Result<Step, String> {
        if data.trim() == DONE {
            return if self.is_content_complete() || self.has_content() {
                Ok(Step::Complete(self.finish()))
            } else {
                Err("the stream ended without an answer".to_owned())
            };
        }
        let invalid =
            |error| format!("a chunk of the answer is not valid JSON of the API ({error})");
        let json: Value = serde_json::from_str(data).map_err(invalid)?;
        if let Some(refusal) = Refusal::from_json(&json) {
            return Ok(Step::Refused(refusal));
        }
        let piece = Piece::deserialize(json).map_err(invalid)?;
        if let Some(model) = piece.model.filter(|model| !model.is_empty()) {
            self.model = model;
        }
        if let Some(counts) = piece.usage {
            counts.merge_into(&mut self.usage);
        }
        let mut shown = Vec::new();
        for choice in piece.choices.into_iter().flatten() {
            if choice.index.unwrap_or(0) != 0 {
                continue;
            }
            if let Some(delta) = choice.delta {
                self.grow(delta, &mut shown);
            }
            match choice.finish_reason {
                Some(word) if matches!(word.as_str(), "error" | "abort") => {
                    return Err("the server reported a failure during the answer".to_owned());
                }
                Some(word) if !word.is_empty() => self.finish_reason = Some(word),
                // Some servers send an empty reason in each chunk.
                _ => {}
            }
        }
        Ok(Step::Show(shown))
    }

    /// Some servers omit the final `[DONE]`. An answer with a finish reason is complete without it.
    fn end(&mut self) -> Option<ModelResponse> {
        self.is_content_complete().then(|| self.finish())
    }

    fn is_content_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
