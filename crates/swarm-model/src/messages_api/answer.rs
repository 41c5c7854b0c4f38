//! Assembles an answer from the events of a stream.

use std::collections::BTreeMap;

use serde_json::Value;
use swarm_protocol::Usage;

use super::event::{Delta, StartedMessage, StreamEvent};
use crate::message::{ContentBlock, call_input};
use crate::model::{ModelEvent, ModelResponse, StopReason};
use crate::remote::{Assembly, Refusal, Step};

#[derive(Debug)]
pub(crate) struct Answer {
    model: String,
    usage: Usage,
    stop_reason: Option<StopReason>,
    started: bool,
    blocks: BTreeMap<usize, PartialBlock>,
}

#[derive(Debug)]
struct PartialBlock {
    content: ContentBlock,
    /// The input received so far, of a call or a block of another type.
    json: String,
    is_closed: bool,
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
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
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
        block.close();
        Ok(())
    }

    /// Returns the complete answer. Closes blocks that are still open, because some gateways omit
    /// `content_block_stop`.
    fn finish(&mut self) -> Result<ModelResponse, String> {
        if !self.started {
            return Err("the stream has no start event".to_owned());
        }
        let blocks = std::mem::take(&mut self.blocks).into_values();
        let closed = blocks.map(|mut block| {
            block.close();
            block.content
        });
        let content: Vec<_> = closed.collect();
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
        let field = |name| text_field(&block, name);
        let mut step = Step::quiet();
        let content = match block.get("type").and_then(Value::as_str).unwrap_or("") {
            "text" => {
                let text = field("text");
                step = shown(text.clone(), ModelEvent::TextDelta);
                ContentBlock::Text { text }
            }
            "thinking" => {
                let (thinking, signature) = (field("thinking"), field("signature"));
                step = shown(thinking.clone(), ModelEvent::ThinkingDelta);
                ContentBlock::Thinking {
                    thinking,
                    signature,
                }
            }
            "redacted_thinking" => ContentBlock::RedactedThinking {
                data: field("data"),
            },
            "tool_use" => {
                let (id, name) = (field("id"), field("name"));
                if id.is_empty() || name.is_empty() {
                    return Err("a tool call without id or name".to_owned());
                }
                step = Step::Show(vec![ModelEvent::ToolUseStarted {
                    id: id.clone(),
                    name: name.clone(),
                }]);
                let input = block.get("input").cloned().unwrap_or_default();
                ContentBlock::ToolUse { id, name, input }
            }
            "" => return Err("a content block without a type".to_owned()),
            _ => ContentBlock::Other(block),
        };
        let partial = Self {
            content,
            json: String::new(),
            is_closed: false,
        };
        Ok((partial, step))
    }

    /// Adds a delta. Returns `None` if the delta does not match the type of the block.
    fn grow(&mut self, delta: Delta) -> Option<Step> {
        match (&mut self.content, delta) {
            (_, Delta::Unknown) => Some(Step::quiet()),
            _ if self.is_closed => None,
            (ContentBlock::Text { text }, Delta::TextDelta { text: more }) => {
                text.push_str(&more);
                Some(shown(more, ModelEvent::TextDelta))
            }
            (ContentBlock::Thinking { thinking, .. }, Delta::ThinkingDelta { thinking: more }) => {
                thinking.push_str(&more);
                Some(shown(more, ModelEvent::ThinkingDelta))
            }
            (
                ContentBlock::Thinking { signature, .. },
                Delta::SignatureDelta { signature: more },
            ) => {
                signature.push_str(&more);
                Some(Step::quiet())
            }
            (
                ContentBlock::ToolUse { .. } | ContentBlock::Other(_),
                Delta::InputJsonDelta { partial_json },
            ) => {
                self.json.push_str(&partial_json);
                Some(Step::quiet())
            }
            (ContentBlock::Other(_), _) => Some(Step::quiet()),
            _ => None,
        }
    }

    /// Adds the received input to the block.
    fn close(&mut self) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let json = std::mem::take(&mut self.json);
        match &mut self.content {
            ContentBlock::ToolUse { input, .. }
                if !input.is_object() || !json.trim().is_empty() =>
            {
                *input = call_input(json);
            }
            ContentBlock::Other(Value::Object(fields)) => {
                if let Ok(input) = serde_json::from_str(&json) {
                    fields.insert("input".to_owned(), input);
                }
            }
            _ => {}
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
