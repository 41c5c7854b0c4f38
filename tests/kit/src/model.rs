//! A scripted model that records its requests.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::Value;
use swarm_model::{
    ContentBlock, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, ModelResponse,
    StopReason,
};
use swarm_protocol::Usage;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

type Script = Box<dyn FnOnce(&ModelRequest) -> Reply + Send>;

/// Reply of the model to one request.
#[derive(Debug)]
pub enum Reply {
    /// Answers immediately.
    Now(ModelResponse),
    /// Answers after the notification.
    When(Arc<Notify>, ModelResponse),
    /// Never answers.
    Hang,
    Fail(ModelError),
}

#[derive(Default)]
pub struct FakeModel {
    script: Mutex<VecDeque<Script>>,
    /// For sub-agents.
    beside: Mutex<VecDeque<Script>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl fmt::Debug for FakeModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FakeModel")
    }
}

impl FakeModel {
    pub fn saying(text: &str) -> Arc<Self> {
        let model = Arc::new(Self::default());
        model.then(say(text));
        model
    }

    /// Adds the next reply.
    pub fn then(&self, reply: Reply) {
        self.on(move |_| reply);
    }

    /// Adds the next reply, created when it is requested.
    pub fn on(&self, script: impl FnOnce(&ModelRequest) -> Reply + Send + 'static) {
        self.script.lock().push_back(Box::new(script));
    }

    /// Adds the next reply to a sub-agent.
    pub fn beside(&self, reply: Reply) {
        self.beside.lock().push_back(Box::new(move |_| reply));
    }

    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().clone()
    }

    pub fn asked(&self) -> usize {
        self.requests.lock().len()
    }
}

impl Model for FakeModel {
    fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> ModelEvents {
        let script = if request.agent.contains('/') {
            &self.beside
        } else {
            &self.script
        };
        let script = script.lock().pop_front();
        let reply = script.map_or_else(unscripted, |script| script(&request));
        self.requests.lock().push(request);
        match reply {
            Reply::Now(response) => stream::iter([Ok(completed(response))]).boxed(),
            Reply::Fail(error) => stream::iter([Err(error)]).boxed(),
            Reply::Hang => stream::pending().boxed(),
            Reply::When(let_go, response) => stream::once(async move {
                let_go.notified().await;
                Ok(completed(response))
            })
            .boxed(),
        }
    }
}

fn completed(response: ModelResponse) -> ModelEvent {
    ModelEvent::Completed(response)
}

fn unscripted() -> Reply {
    Reply::Fail(ModelError::InvalidRequest(
        "the script has no reply for this request".to_owned(),
    ))
}

fn response(content: Vec<ContentBlock>, stop_reason: StopReason) -> ModelResponse {
    ModelResponse {
        content,
        stop_reason,
        usage: Usage::default(),
        model: "fake-1".to_owned(),
    }
}

pub fn words(text: &str) -> ModelResponse {
    response(vec![ContentBlock::text(text)], StopReason::EndTurn)
}

/// Creates an answer that ends the turn.
pub fn say(text: &str) -> Reply {
    Reply::Now(words(text))
}

/// Creates a call of one tool.
pub fn call(tool: &str, input: Value) -> Reply {
    let block = ContentBlock::ToolUse {
        id: format!("toolu_{}", uuid::Uuid::new_v4().simple()),
        name: tool.to_owned(),
        input,
    };
    Reply::Now(response(vec![block], StopReason::ToolUse))
}

/// Returns all text of a request.
pub fn heard(request: &ModelRequest) -> String {
    let messages = request.messages.iter();
    let blocks = messages.flat_map(|message| message.message().content);
    let texts: Vec<String> = blocks
        .filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text),
            ContentBlock::ToolResult { content, .. } => Some(content),
            _ => None,
        })
        .collect();
    texts.join("\n")
}
