//! Requests to the model.

use std::sync::Arc;

use futures::{FutureExt as _, StreamExt};
use swarm_model::{Fallback, ModelError, ModelEvent, ModelEvents, ModelRequest, ModelResponse};
use swarm_protocol::{AgentEvent, MemberState, Usage};

use super::outcome::TurnSignals;
use crate::compaction::within_limits;
use crate::{Result, Session, SessionLimits};

impl Session {
    /// Returns the request for the whole conversation. Tools, system prompt and all messages but
    /// the last have the same bytes in each request of a conversation.
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

    /// Sends the conversation to the model and streams the response as events. The usage of an
    /// incomplete response counts, but its text does not become part of the conversation.
    pub(super) async fn ask_model(&mut self, signals: &TurnSignals) -> Result<ModelResponse> {
        let request = self.request();
        self.asked_output = request.max_tokens;
        self.ask(request, signals, true).await
    }

    /// Sends a request to the model. Text is emitted as events only if `is_shown`, that is, for
    /// responses that belong to the conversation.
    pub(crate) async fn ask(
        &mut self,
        request: ModelRequest,
        signals: &TurnSignals,
        is_shown: bool,
    ) -> Result<ModelResponse> {
        if signals.is_over() {
            return Err(ModelError::Cancelled.into());
        }
        let mut progress = Progress::default();
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
                    fallback,
                    window,
                    max_output,
                })) => {
                    self.discard(&mut progress);
                    self.take_limits(window, max_output);
                    if let Some(Fallback { model, notice }) = fallback {
                        self.notice(notice);
                        self.emit(AgentEvent::FallbackUsed { model });
                    }
                }
                Some(Ok(event)) => self.show(event, &mut progress, is_shown),
                Some(Err(error)) => break Err(error),
                None => break Err(incomplete_stream()),
            }
        };
        if answer.is_err() {
            cancel.cancel();
            progress.cost += remaining_usage(&mut events);
            self.unanswered += progress.cost;
        }
        if progress.throttled {
            self.state(MemberState::Working, None);
        }
        self.meter.next_is_inflated = progress.retried;
        match &answer {
            Ok(_) if !is_shown => {}
            Ok(response) => self.emit(AgentEvent::MessageDone {
                text: response.text(),
            }),
            Err(error) if self.is_sent_again(error, signals) => self.discard(&mut progress),
            Err(_) => {}
        }
        Ok(answer?)
    }

    /// Returns whether a failed request is sent again: after a compaction, or when a suspended turn
    /// continues. Otherwise the end of the turn explains why the text is incomplete.
    fn is_sent_again(&self, error: &ModelError, signals: &TurnSignals) -> bool {
        match error {
            ModelError::ContextTooLong(_) => self.history.has_answer(),
            ModelError::Cancelled => !signals.cancel.is_cancelled(),
            _ => false,
        }
    }

    fn show(&self, event: ModelEvent, progress: &mut Progress, is_shown: bool) {
        if let ModelEvent::Retrying {
            attempt,
            wait,
            reason,
            is_overload: _,
        } = event
        {
            self.discard(progress);
            progress.throttled = true;
            progress.retried = true;
            // Whole seconds are precise enough for a status line.
            let seconds = wait.as_secs_f64().ceil();
            let detail = format!("retries in {seconds} s: {reason}");
            self.state(MemberState::Throttled, Some(detail));
            return self.emit(AgentEvent::Retrying {
                attempt,
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                reason,
            });
        }
        if let ModelEvent::Waiting { wait } = event {
            progress.throttled = true;
            let seconds = wait.as_secs_f64().ceil();
            let detail = format!("waiting {seconds} s: the request rate is limited");
            return self.state(MemberState::Throttled, Some(detail));
        }
        if let ModelEvent::Held {
            reason: Some(reason),
        } = event
        {
            progress.throttled = true;
            self.notice(reason.clone());
            return self.state(MemberState::OverBudget, Some(reason));
        }
        if std::mem::take(&mut progress.throttled) {
            self.state(MemberState::Working, None);
        }
        match event {
            ModelEvent::Unanswered { usage } => progress.cost += usage,
            _ if !is_shown => {}
            ModelEvent::TextDelta(text) => {
                progress.anything = true;
                self.emit(AgentEvent::TextDelta { text });
            }
            ModelEvent::ThinkingDelta(text) => {
                progress.anything = true;
                self.emit(AgentEvent::ThinkingDelta { text });
            }
            // Calls are shown when they are complete and about to run.
            _ => {}
        }
    }

    /// Applies the limits of a fallback model: the conversation must fit its window from here on.
    fn take_limits(&mut self, window: Option<u64>, max_output: Option<u32>) {
        let limits = &mut self.parts.limits;
        limits.window = window;
        limits.max_output_tokens = max_output.unwrap_or(SessionLimits::USUAL_OUTPUT);
    }

    fn discard(&self, progress: &mut Progress) {
        if std::mem::take(&mut progress.anything) {
            self.emit(AgentEvent::TextDiscarded);
        }
    }

    pub(crate) fn state(&self, state: MemberState, detail: Option<String>) {
        self.emit(AgentEvent::State { state, detail });
    }
}

/// What was emitted of an incomplete response.
#[derive(Debug, Default)]
struct Progress {
    anything: bool,
    throttled: bool,
    /// The request was sent more than once.
    retried: bool,
    /// Usage that the server counted without a complete response.
    cost: Usage,
}

/// Polls of a cancelled stream; one that was still active reports its usage on the second poll.
const LAST_POLLS: usize = 4;

/// Returns the usage that a cancelled stream still reports, without waiting for it.
fn remaining_usage(events: &mut ModelEvents) -> Usage {
    let mut cost = Usage::default();
    for _ in 0..LAST_POLLS {
        if let Some(Some(Ok(ModelEvent::Unanswered { usage }))) = events.next().now_or_never() {
            cost += usage;
        }
    }
    cost
}

fn incomplete_stream() -> ModelError {
    ModelError::BadStream {
        message: "the stream ended without a complete response".into(),
        attempts: 1,
    }
}
