//! Asking the model.

use std::sync::Arc;

use futures::{FutureExt as _, StreamExt};
use swarm_model::{ModelError, ModelEvent, ModelEvents, ModelRequest, ModelResponse};
use swarm_protocol::{AgentEvent, MemberState, Usage};

use super::signals::TurnSignals;
use crate::compaction::within_limits;
use crate::{AgentError, Session, SessionLimits};

impl Session {
    /// The request for everything said so far. Tools, system prompt and all messages but the last are the same bytes
    /// in each request of a conversation.
    pub(crate) fn request(&self) -> ModelRequest {
        ModelRequest {
            model: self.parts.model_name.clone(),
            system: Arc::clone(&self.head.system),
            tools: Arc::clone(&self.head.specs),
            messages: within_limits(self.history.for_model()).into(),
            max_tokens: self.parts.limits.output_after(self.meter.tokens()),
            thinking: self.parts.limits.thinking,
            effort: self.parts.limits.effort,
            agent: self.parts.name.clone(),
        }
    }

    /// Asks the model and shows its answer as it grows. Text of an answer that did not come to its end is discarded, but
    /// what it cost is not.
    pub(super) async fn ask_model(
        &mut self,
        signals: &TurnSignals,
    ) -> Result<ModelResponse, AgentError> {
        let request = self.request();
        self.asked_output = request.max_tokens;
        self.ask(request, signals, true).await
    }

    /// Asks the model. Only an answer that is part of the conversation is shown.
    pub(crate) async fn ask(
        &mut self,
        request: ModelRequest,
        signals: &TurnSignals,
        is_shown: bool,
    ) -> Result<ModelResponse, AgentError> {
        if signals.is_over() {
            return Err(ModelError::Cancelled.into());
        }
        let mut shown = Shown::default();
        let cancel = signals.cancel.child_token();
        let mut events = self.parts.model.stream(request, cancel.clone());
        let answer = loop {
            let event = tokio::select! {
                biased;
                () = signals.over() => Some(Err(ModelError::Cancelled)),
                event = events.next() => event,
            };
            match event {
                Some(Ok(ModelEvent::Completed(response))) => break Ok(response),
                Some(Ok(ModelEvent::Switched {
                    notice,
                    window,
                    max_output,
                })) => {
                    self.discard(&mut shown);
                    self.take_limits(notice, window, max_output);
                }
                Some(Ok(event)) => self.show(event, &mut shown, is_shown),
                Some(Err(error)) => break Err(error),
                None => break Err(ended_early()),
            }
        };
        if answer.is_err() {
            cancel.cancel();
            shown.cost += last_words(&mut events);
            self.unanswered += shown.cost;
        }
        if shown.throttled {
            self.state(MemberState::Working, None);
        }
        self.meter.next_is_inflated = shown.retried;
        match &answer {
            Ok(_) if !is_shown => {}
            Ok(response) => self.emit(AgentEvent::MessageDone {
                text: response.text(),
            }),
            Err(_) => self.discard(&mut shown),
        }
        Ok(answer?)
    }

    fn show(&self, event: ModelEvent, shown: &mut Shown, is_shown: bool) {
        if let ModelEvent::Retrying {
            attempt,
            wait,
            reason,
            is_overload: _,
        } = event
        {
            self.discard(shown);
            shown.throttled = true;
            shown.retried = true;
            // In whole seconds, as nobody reads a state faster.
            let seconds = wait.as_secs_f64().ceil();
            let detail = format!("asks the model again in {seconds} s: {reason}");
            self.state(MemberState::Throttled, Some(detail));
            return self.emit(AgentEvent::Retrying {
                attempt,
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                reason,
            });
        }
        if let ModelEvent::Waiting { wait } = event {
            shown.throttled = true;
            let seconds = wait.as_secs_f64().ceil();
            let detail =
                format!("waits {seconds} s: the model server asked the agents to slow down");
            return self.state(MemberState::Throttled, Some(detail));
        }
        if std::mem::take(&mut shown.throttled) {
            self.state(MemberState::Working, None);
        }
        match event {
            ModelEvent::Unanswered { usage } => shown.cost += usage,
            _ if !is_shown => {}
            ModelEvent::TextDelta(text) => {
                shown.anything = true;
                self.emit(AgentEvent::TextDelta { text });
            }
            ModelEvent::ThinkingDelta(text) => {
                shown.anything = true;
                self.emit(AgentEvent::ThinkingDelta { text });
            }
            // The call is shown once it is whole and about to run.
            ModelEvent::ToolUseStarted { .. }
            | ModelEvent::Retrying { .. }
            | ModelEvent::Waiting { .. }
            | ModelEvent::Switched { .. }
            | ModelEvent::Completed(_) => {}
        }
    }

    /// Another model answers: the conversation has to fit its window from here on.
    fn take_limits(
        &mut self,
        notice: Option<String>,
        window: Option<u64>,
        max_output: Option<u32>,
    ) {
        let limits = &mut self.parts.limits;
        limits.window = window;
        limits.max_output_tokens = max_output.unwrap_or(SessionLimits::USUAL_OUTPUT);
        if let Some(line) = notice {
            self.emit(AgentEvent::Notice { line });
        }
    }

    fn discard(&self, shown: &mut Shown) {
        if std::mem::take(&mut shown.anything) {
            self.emit(AgentEvent::TextDiscarded);
        }
    }

    pub(crate) fn state(&self, state: MemberState, detail: Option<String>) {
        self.emit(AgentEvent::State { state, detail });
    }
}

/// What watchers have seen of an answer that is not whole yet.
#[derive(Debug, Default)]
struct Shown {
    anything: bool,
    throttled: bool,
    /// The request was made more than once.
    retried: bool,
    /// What the server counted without giving an answer.
    cost: Usage,
}

/// Looks at a stream that was told to end; one that was still at work says its last words at the second look.
const LAST_LOOKS: usize = 4;

/// What a stream that was told to end has still to say of its cost. It is not waited for.
fn last_words(events: &mut ModelEvents) -> Usage {
    let mut cost = Usage::default();
    for _ in 0..LAST_LOOKS {
        if let Some(Some(Ok(ModelEvent::Unanswered { usage }))) = events.next().now_or_never() {
            cost += usage;
        }
    }
    cost
}

fn ended_early() -> ModelError {
    ModelError::BadStream {
        message: "the stream ended without an answer".into(),
        attempts: 1,
    }
}
