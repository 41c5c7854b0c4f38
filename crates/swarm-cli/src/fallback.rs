//! Fallback to a second model while the first one is overloaded.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use swarm_model::{
    BlockKind, Fallback, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, Role,
    StoredMessage,
};
use swarm_protocol::Thinking;
use tokio_util::sync::CancellationToken;

/// Number of consecutive overload errors before the fallback, as in Claude Code.
const OVERLOADS: u32 = 3;

/// A model with its limits.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) client: Arc<dyn Model>,
    /// Full name.
    pub(crate) full: String,
    /// Model id of the provider.
    pub(crate) id: String,
    pub(crate) window: Option<u64>,
    pub(crate) max_output: Option<u32>,
}

/// A model with a fallback that lasts until the end of a turn.
#[derive(Debug, Clone)]
pub(crate) struct FallbackModel(Arc<Pair>);

#[derive(Debug)]
struct Pair {
    first: Choice,
    second: Choice,
    /// Agents that currently use the second model. A client may serve several: sub-agents with the
    /// same model, and hooks.
    on_second: Mutex<HashSet<String>>,
}

impl FallbackModel {
    pub(crate) fn new(first: Choice, second: Choice) -> Self {
        Self(Arc::new(Pair {
            first,
            second,
            on_second: Mutex::default(),
        }))
    }
}

impl Model for FallbackModel {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let pair = Arc::clone(&self.0);
        if begins_turn(&request) {
            pair.on_second.lock().remove(&request.agent);
        }
        let is_on_second = pair.on_second.lock().contains(&request.agent);
        let mut asking = Asking {
            pair,
            request,
            cancel,
            events: stream::empty().boxed(),
            is_on_second: false,
            overloads: 0,
            before: VecDeque::new(),
            is_over: false,
        };
        if is_on_second {
            asking.ask_second(None);
        } else {
            asking.ask_first();
        }
        stream::unfold(asking, Asking::next).fuse().boxed()
    }

    fn defers_tools(&self) -> bool {
        let Pair { first, second, .. } = &*self.0;
        first.client.defers_tools() && second.client.defers_tools()
    }

    fn takes_documents(&self) -> bool {
        let Pair { first, second, .. } = &*self.0;
        first.client.takes_documents() && second.client.takes_documents()
    }
}

/// A request in progress.
struct Asking {
    pair: Arc<Pair>,
    request: ModelRequest,
    cancel: CancellationToken,
    events: ModelEvents,
    is_on_second: bool,
    /// Number of consecutive overload errors.
    overloads: u32,
    /// Events to emit before those of the model.
    before: VecDeque<ModelEvent>,
    is_over: bool,
}

type Item = Result<ModelEvent, ModelError>;

impl Asking {
    fn ask_first(&mut self) {
        let first = &self.pair.first;
        self.before.push_back(switched(first, None));
        self.events = (first.client).stream(self.request.clone(), self.cancel.clone());
    }

    fn ask_second(&mut self, notice: Option<String>) {
        self.is_on_second = true;
        let agent = self.request.agent.clone();
        self.pair.on_second.lock().insert(agent);
        let second = &self.pair.second;
        let fallback = notice.map(|notice| Fallback {
            model: second.full.clone(),
            notice,
        });
        self.before.push_back(switched(second, fallback));
        self.events =
            (second.client).stream(for_second(&self.request, second), self.cancel.clone());
    }

    async fn next(mut self) -> Option<(Item, Self)> {
        loop {
            if let Some(event) = self.before.pop_front() {
                return Some((Ok(event), self));
            }
            if self.is_over {
                return None;
            }
            let item = self.events.next().await?;
            if self.has_given_up(&item) {
                let (first, second) = (&self.pair.first.full, &self.pair.second.full);
                let notice = format!(
                    "{first} is overloaded; {second} answers until the end of the turn (setting model.fallback)"
                );
                self.ask_second(Some(notice));
                continue;
            }
            self.is_over = matches!(item, Err(_) | Ok(ModelEvent::Completed(_)));
            return Some((item, self));
        }
    }

    /// Returns whether the first model has reached the limit of overload errors.
    fn has_given_up(&mut self, item: &Item) -> bool {
        if self.is_on_second {
            return false;
        }
        match item {
            Ok(ModelEvent::Retrying { is_overload, .. }) if *is_overload => self.overloads += 1,
            Ok(ModelEvent::Retrying { .. }) => self.overloads = 0,
            Err(ModelError::Overloaded { .. }) => self.overloads = OVERLOADS,
            _ => {}
        }
        self.overloads >= OVERLOADS
    }
}

fn switched(choice: &Choice, fallback: Option<Fallback>) -> ModelEvent {
    ModelEvent::Switched {
        fallback,
        window: choice.window,
        max_output: choice.max_output,
    }
}

/// Returns whether the last message comes from a person or member instead of a tool result.
fn begins_turn(request: &ModelRequest) -> bool {
    let last = request.messages.last();
    last.is_none_or(|last| last.blocks.iter().all(|block| block.result_id().is_none()))
}

/// Returns the request for another model: without the thinking of the first one, whose signatures
/// are only valid there.
fn for_second(request: &ModelRequest, second: &Choice) -> ModelRequest {
    let messages = request.messages.iter().map(|message| {
        let is_thinking = |kind| matches!(kind, BlockKind::Thinking | BlockKind::UnsignedThinking);
        let mut blocks = message.blocks.iter();
        if message.role == Role::User || !blocks.any(|block| is_thinking(block.kind())) {
            return Arc::clone(message);
        }
        let mut said = StoredMessage::clone(message);
        said.blocks.retain(|block| !is_thinking(block.kind()));
        Arc::new(said)
    });
    ModelRequest {
        model: second.id.clone(),
        messages: messages.collect(),
        max_tokens: request
            .max_tokens
            .min(second.max_output.unwrap_or(request.max_tokens)),
        thinking: Thinking::Off,
        ..request.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use swarm_model::{ContentBlock, Message, ModelResponse, StopReason};
    use swarm_protocol::Usage;

    use super::*;

    /// A model that is overloaded or responds.
    #[derive(Debug, Default)]
    struct Played {
        is_overloaded: AtomicBool,
        asked: Mutex<Vec<ModelRequest>>,
    }

    impl Model for Played {
        fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> ModelEvents {
            self.asked.lock().push(request);
            if self.is_overloaded.load(Ordering::SeqCst) {
                let retrying = |attempt| {
                    Ok(ModelEvent::Retrying {
                        attempt,
                        wait: std::time::Duration::ZERO,
                        reason: "busy".to_owned(),
                        is_overload: true,
                    })
                };
                return stream::iter((2..12).map(retrying)).boxed();
            }
            let response = ModelResponse {
                content: vec![ContentBlock::text("done")],
                stop_reason: StopReason::EndTurn,
                usage: Usage::default(),
                model: String::new(),
            };
            stream::iter([Ok(ModelEvent::Completed(response))]).boxed()
        }
    }

    fn request(content: Vec<ContentBlock>) -> ModelRequest {
        let thinking = ContentBlock::Thinking {
            thinking: "hm".to_owned(),
            signature: "of-first".to_owned(),
        };
        let messages = [
            Message::user_text("go"),
            Message::assistant(vec![thinking, ContentBlock::text("well")]),
            Message::user(content),
        ];
        ModelRequest {
            model: "first-1".to_owned(),
            system: Arc::default(),
            tools: Arc::default(),
            messages: messages
                .into_iter()
                .map(|message| Arc::new(StoredMessage::from(message)))
                .collect(),
            max_tokens: 64_000,
            thinking: Thinking::Adaptive,
            effort: None,
            agent: "bob".to_owned(),
        }
    }

    async fn events(model: &FallbackModel, request: ModelRequest) -> Vec<ModelEvent> {
        let events = model.stream(request, CancellationToken::new());
        events.map(Result::unwrap).collect().await
    }

    /// The windows of the models that received a request, and whether a retry was reported.
    fn switches(events: &[ModelEvent]) -> Vec<(Option<u64>, bool)> {
        let switches = events.iter().filter_map(|event| match event {
            ModelEvent::Switched {
                fallback, window, ..
            } => Some((*window, fallback.is_some())),
            _ => None,
        });
        switches.collect()
    }

    #[tokio::test]
    async fn an_overloaded_model_is_replaced_until_the_next_turn() {
        let (first, second) = (Arc::new(Played::default()), Arc::new(Played::default()));
        let choice = |client: &Arc<Played>, id: &str, window| Choice {
            client: Arc::clone(client) as Arc<dyn Model>,
            full: format!("anthropic/{id}"),
            id: id.to_owned(),
            window: Some(window),
            max_output: Some(8_000),
        };
        let model = FallbackModel::new(
            choice(&first, "first-1", 200),
            choice(&second, "second-1", 100),
        );
        first.is_overloaded.store(true, Ordering::SeqCst);
        let prompt = || request(vec![ContentBlock::text("more")]);
        let result = || ContentBlock::ToolResult {
            tool_use_id: "toolu_1".to_owned(),
            content: "x".to_owned(),
            is_error: false,
        };
        let seen = events(&model, prompt()).await;
        assert_eq!(switches(&seen), [(Some(200), false), (Some(100), true)]);
        let retried = |event: &&ModelEvent| matches!(event, ModelEvent::Retrying { .. });
        assert_eq!(seen.iter().filter(retried).count(), 2, "the third switches");
        assert!(matches!(seen.last(), Some(ModelEvent::Completed(_))));
        let asked = second.asked.lock().remove(0);
        assert_eq!(
            (asked.model.as_str(), asked.max_tokens),
            ("second-1", 8_000)
        );
        assert_eq!(asked.thinking, Thinking::Off);
        assert_eq!(
            asked.messages[1].blocks.len(),
            1,
            "no thinking of the first"
        );

        let seen = events(&model, request(vec![result()])).await;
        assert_eq!(
            switches(&seen),
            [(Some(100), false)],
            "the turn continues there"
        );
        assert_eq!(first.asked.lock().len(), 1);

        first.is_overloaded.store(false, Ordering::SeqCst);
        let seen = events(&model, prompt()).await;
        assert_eq!(switches(&seen), [(Some(200), false)], "a new turn");
        assert_eq!(first.asked.lock().len(), 2);
    }
}
