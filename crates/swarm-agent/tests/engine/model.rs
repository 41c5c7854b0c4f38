//! A fake model that plays a script and records its requests.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::Value;
use swarm_model::{
    ContentBlock, Message, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, ModelResponse,
    StopReason, SystemBlock, ToolSpec,
};
use swarm_protocol::{Effort, Usage};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The reaction to one request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Streams these events.
    Events(Vec<Result<ModelEvent, ModelError>>),
    /// Streams these events and then hangs.
    Hang(Vec<ModelEvent>),
}

/// A request with its messages as text.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) system: Arc<[SystemBlock]>,
    pub(crate) tools: Arc<[ToolSpec]>,
    pub(crate) messages: Vec<Message>,
    pub(crate) max_tokens: u32,
    pub(crate) effort: Option<Effort>,
    pub(crate) agent: String,
}

impl From<ModelRequest> for Asked {
    fn from(request: ModelRequest) -> Self {
        Self {
            messages: request.messages.iter().map(|one| one.message()).collect(),
            model: request.model,
            system: request.system,
            tools: request.tools,
            max_tokens: request.max_tokens,
            effort: request.effort,
            agent: request.agent,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct FakeModel {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Asked>>,
    /// Notified when a reply hangs.
    pub(crate) silent: Arc<Notify>,
}

impl FakeModel {
    pub(crate) fn play(&self, replies: impl IntoIterator<Item = Reply>) {
        self.replies.lock().extend(replies);
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.requests.lock().clone()
    }

    pub(crate) fn last_request(&self) -> Asked {
        self.requests().pop().unwrap()
    }
}

impl Model for FakeModel {
    fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> ModelEvents {
        self.requests.lock().push(request.into());
        match self.replies.lock().pop_front() {
            Some(Reply::Events(events)) => stream::iter(events).boxed(),
            Some(Reply::Hang(events)) => {
                let silent = self.silent.clone();
                let silence = stream::once(async move {
                    silent.notify_one();
                    std::future::pending().await
                });
                stream::iter(events).map(Ok).chain(silence).boxed()
            }
            None => panic!("the script has no reply for this request"),
        }
    }
}

/// Usage of each scripted response.
pub(crate) const COST: Usage = Usage {
    input_tokens: 10,
    output_tokens: 3,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 7,
};

pub(crate) fn response(content: Vec<ContentBlock>, stop_reason: StopReason) -> ModelResponse {
    ModelResponse {
        content,
        stop_reason,
        usage: COST,
        model: "fake-1".into(),
    }
}

pub(crate) fn reply(content: Vec<ContentBlock>, stop_reason: StopReason) -> Reply {
    Reply::Events(vec![Ok(ModelEvent::Completed(response(
        content,
        stop_reason,
    )))])
}

/// A text response that ends the turn.
pub(crate) fn say(text: &str) -> Reply {
    reply(vec![ContentBlock::text(text)], StopReason::EndTurn)
}

pub(crate) fn tool_use(id: &str, tool: &str, input: Value) -> ContentBlock {
    ContentBlock::ToolUse {
        id: id.into(),
        name: tool.into(),
        input,
    }
}

/// A response with tool calls.
pub(crate) fn call<const N: usize>(calls: [(&str, &str, Value); N]) -> Reply {
    let calls = calls.map(|(id, tool, input)| tool_use(id, tool, input));
    reply(calls.to_vec(), StopReason::ToolUse)
}
