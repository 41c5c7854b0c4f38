//! Assembles an answer from the events of a stream.

use std::collections::BTreeMap;

use serde_json::Value;
use swarm_protocol::Usage;

use super::event::{Delta, StartedMessage, StreamEvent};
use crate::message::{ContentBlock, call_input};
use crate::model::{ModelEvent, ModelResponse};
use crate::remote::{Assembly, Refusal, Step};
use crate::stop::StopReason;

/// A partially received answer.
#[derive(Debug)]
pub(crate) struct Answer {
    model: String,
    usage: Usage,
    stop_reason: Option<StopReason>,
    started: bool,
    blocks: BTreeMap<usize, PartialBlock>,
}

/// A partially received content block.
#[derive(Debug)]
enum PartialBlock {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    ToolUse {
        id: String,
        name: String,
        initial: Value,
        json: String,
    },
    Other {
        block: Value,
        json: String,
    },
    Done(ContentBlock),
}

impl Assembly for Answer {
    fn take(&mut self, data: &str) -> Result<Step, String> {
        match serde_json::from_str(data) {
            Ok(event) => self.follow(event),
            Err(error) => Err(format!("an event is not the API's JSON ({error})")),
        }
    }

    /// Always `None`: an answer is complete only with `message_stop`.
    fn end(&mut self) -> Option<ModelResponse> {
        None
    }

    fn is_content_complete(&self) -> bool {
        false
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}

impl Answer {
    /// Creates an empty answer to a request for `model`; the server may return a more specific
    /// name.
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            usage: Usage::default(),
            stop_reason: None,
            started: false,
            blocks: BTreeMap::new(),
        }
    }

    /// Processes one event. Fails with a description of an invalid event.
    fn follow(&mut self, event: StreamEvent) -> Result<Step, String> {
        match event {
            StreamEvent::MessageStart { message } => self.start(message),
            StreamEvent::ContentBlockStart {
                index,
                content_block,
            } => return self.open(index, content_block),
            StreamEvent::ContentBlockDelta { index, delta } => return self.grow(index, delta),
            StreamEvent::ContentBlockStop { index } => self.close(index)?,
            StreamEvent::MessageDelta { delta, usage } => {
                usage.unwrap_or_default().merge_into(&mut self.usage);
                if let Some(word) = delta.stop_reason {
                    self.stop_reason = Some(StopReason::from(word.as_str()));
                }
            }
            StreamEvent::MessageStop => return self.finish().map(Step::Complete),
            StreamEvent::Error { error, request_id } => {
                let error = serde_json::json!({ "error": error, "request_id": request_id });
                return Ok(Step::Refused(
                    Refusal::from_json(&error).unwrap_or_default(),
                ));
            }
            StreamEvent::Ping | StreamEvent::Unknown => {}
        }
        Ok(Step::quiet())
    }

    fn start(&mut self, message: StartedMessage) {
        self.started = true;
        let usage = message.usage.unwrap_or_default();
        usage.merge_into(&mut self.usage);
        if let Some(model) = message.model {
            self.model = model;
        }
    }

    fn open(&mut self, index: usize, block: Value) -> Result<Step, String> {
        let (partial, step) = PartialBlock::open(block)?;
        match self.blocks.insert(index, partial) {
            None => Ok(step),
            Some(_) => Err(format!("content block {index} starts twice")),
        }
    }

    fn grow(&mut self, index: usize, delta: Delta) -> Result<Step, String> {
        self.blocks
            .get_mut(&index)
            .and_then(|block| block.grow(delta))
            .ok_or_else(|| format!("content block {index} received a delta of the wrong type"))
    }

    fn close(&mut self, index: usize) -> Result<(), String> {
        let block = self
            .blocks
            .get_mut(&index)
            .ok_or_else(|| format!("content block {index} stops without a start"))?;
        let open = std::mem::replace(block, PartialBlock::Text(String::new()));
        *block = PartialBlock::Done(open.close());
        Ok(())
    }

    /// Returns the complete answer. Closes blocks that are still open, because some gateways omit
    /// `content_block_stop`.
    fn finish(&mut self) -> Result<ModelResponse, String> {
        if !self.started {
            return Err("the stream has no start event".to_owned());
        }
        let content: Vec<ContentBlock> = std::mem::take(&mut self.blocks)
            .into_values()
            .map(PartialBlock::close)
            .collect();
        let stop_reason = self
            .stop_reason
            .take()
            .unwrap_or_else(|| implied_stop(&content));
        Ok(ModelResponse {
            content,
            stop_reason,
            usage: self.usage,
            model: std::mem::take(&mut self.model),
        })
    }
}

fn implied_stop(content: &[ContentBlock]) -> StopReason {
    let calls = |block: &ContentBlock| matches!(block, ContentBlock::ToolUse { .. });
    if content.iter().any(calls) {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    }
}

impl PartialBlock {
    /// Creates a block from the `content_block` of its start event.
    fn open(block: Value) -> Result<(Self, Step), String> {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or("");
        match kind {
            "text" => {
                let text = text_field(&block, "text");
                let step = shown(text.clone(), ModelEvent::TextDelta);
                Ok((Self::Text(text), step))
            }
            "thinking" => {
                let thinking = text_field(&block, "thinking");
                let signature = text_field(&block, "signature");
                let step = shown(thinking.clone(), ModelEvent::ThinkingDelta);
                Ok((
                    Self::Thinking {
                        thinking,
                        signature,
                    },
                    step,
                ))
            }
            "redacted_thinking" => {
                let data = text_field(&block, "data");
                let whole = ContentBlock::RedactedThinking { data };
                Ok((Self::Done(whole), Step::quiet()))
            }
            "tool_use" => Self::open_call(&block),
            "" => Err("a content block without a type".to_owned()),
            _ => Ok((
                Self::Other {
                    block,
                    json: String::new(),
                },
                Step::quiet(),
            )),
        }
    }

    fn open_call(block: &Value) -> Result<(Self, Step), String> {
        let (id, name) = (text_field(block, "id"), text_field(block, "name"));
        if id.is_empty() || name.is_empty() {
            return Err("a tool call without id or name".to_owned());
        }
        let step = Step::Show(vec![ModelEvent::ToolUseStarted {
            id: id.clone(),
            name: name.clone(),
        }]);
        let initial = block.get("input").cloned().unwrap_or_default();
        let json = String::new();
        Ok((
            Self::ToolUse {
                id,
                name,
                initial,
                json,
            },
            step,
        ))
    }

    /// Adds a delta. Returns `None` if the delta does not match the type of the block.
    fn grow(&mut self, delta: Delta) -> Option<Step> {
        match (self, delta) {
            (Self::Text(text), Delta::TextDelta { text: more }) => {
                text.push_str(&more);
                Some(shown(more, ModelEvent::TextDelta))
            }
            (Self::Thinking { thinking, .. }, Delta::ThinkingDelta { thinking: more }) => {
                thinking.push_str(&more);
                Some(shown(more, ModelEvent::ThinkingDelta))
            }
            (Self::Thinking { signature, .. }, Delta::SignatureDelta { signature: more }) => {
                signature.push_str(&more);
                Some(Step::quiet())
            }
            (
                Self::ToolUse { json, .. } | Self::Other { json, .. },
                Delta::InputJsonDelta { partial_json },
            ) => {
                json.push_str(&partial_json);
                Some(Step::quiet())
            }
            (Self::Other { .. }, _) | (_, Delta::Unknown) => Some(Step::quiet()),
            _ => None,
        }
    }

    fn close(self) -> ContentBlock {
        match self {
            Self::Text(text) => ContentBlock::Text { text },
            Self::Thinking {
                thinking,
                signature,
            } => ContentBlock::Thinking {
                thinking,
                signature,
            },
            Self::ToolUse {
                id,
                name,
                initial,
                json,
            } => ContentBlock::ToolUse {
                id,
                name,
                input: match initial {
                    Value::Object(_) if json.trim().is_empty() => initial,
                    _ => call_input(json),
                },
            },
            Self::Other { mut block, json } => {
                if let (Some(fields), Ok(input)) =
                    (block.as_object_mut(), serde_json::from_str(&json))
                {
                    fields.insert("input".to_owned(), input);
                }
                ContentBlock::Other(block)
            }
            Self::Done(block) => block,
        }
    }
}

fn text_field(block: &Value, name: &str) -> String {
    let text = block.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn shown(text: String, event: fn(String) -> ModelEvent) -> Step {
    if text.is_empty() {
        Step::quiet()
    } else {
        Step::Show(vec![event(text)])
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
