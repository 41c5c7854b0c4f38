//! The turn loop.

use swarm_model::{ContentBlock, ModelError, ModelResponse, StopReason};
use swarm_protocol::{AgentEvent, MemberState};

use super::outcome::{TurnOutcome, TurnSignals};
use super::runtime::{AgentRuntime, ModelLoop, Turn};
use super::step::{self, Call, Step};
use super::types::{NOT_RUN, TurnProgress, TurnStop};
use crate::history::error_result;
use crate::transcript::{CompactTrigger, Entry, TurnEnd};
use crate::{AgentError, Result, Session};

const CONTINUE: &str = "[Your answer was cut off at the limit of output tokens. Continue exactly where it stopped, without repeating anything.]";

impl Session {
    /// Runs the model on the user message at the end of the conversation, see
    /// [`Session::run_turn_with`].
    pub async fn run_turn(&mut self, signals: impl Into<TurnSignals>) -> TurnOutcome {
        self.run_turn_with(&ModelLoop, signals).await
    }

    /// Runs a runtime on the user message at the end of the conversation until it ends its turn.
    /// [`TurnSignals::cancel`], for which a plain token can be passed, ends the turn within
    /// [`crate::SessionLimits::cancel_grace`].
    ///
    /// In every case, each call has a result in the transcript afterwards.
    pub async fn run_turn_with(
        &mut self,
        runtime: &dyn AgentRuntime,
        signals: impl Into<TurnSignals>,
    ) -> TurnOutcome {
        let signals = signals.into();
        let before = self.totals();
        self.is_not_compacted = false;
        self.stop_reason = None;
        self.emit(AgentEvent::TurnStarted);
        self.state(MemberState::Working, None);
        self.fire_noted(&signals.cancel).await;
        let (end, text) = self.run_runtime(runtime, &signals).await;
        self.parts.rights.revoke_temporary();
        let end = match end {
            Err(TurnStop::Interrupted) if !signals.cancel.is_cancelled() => {
                Err(TurnStop::Suspended)
            }
            end => end,
        };
        if let Err(stop) = &end {
            self.record_end(stop);
            self.fire_failure(stop, &signals.cancel).await;
        }
        let text = match end {
            Err(TurnStop::Limit) => limit_text(self.parts.limits.max_turns, &text),
            _ => text,
        };
        let spent = self.totals().since(before);
        let outcome = TurnOutcome {
            end,
            text,
            spent,
            stop_reason: self.stop_reason.clone(),
        };
        self.emit(AgentEvent::TurnEnded {
            text: outcome.text.clone(),
            usage: outcome.spent.usage,
            outcome: outcome.word().to_owned(),
            error: outcome.trouble(),
        });
        outcome
    }

    /// Runs the runtime. Returns how it ended and the agent's last text.
    async fn run_runtime(
        &mut self,
        runtime: &dyn AgentRuntime,
        signals: &TurnSignals,
    ) -> (Result<(), TurnStop>, String) {
        if !self.history.waits() {
            return (Err(AgentError::NothingToAnswer.into()), String::new());
        }
        if let Err(halted) = self.heed_halt() {
            return (Err(halted), String::new());
        }
        let mut turn = Turn {
            session: self,
            progress: TurnProgress::default(),
            signals,
        };
        let end = runtime.answer(&mut turn).await;
        let text = turn.progress.text;
        // The program of another runtime finishes its turn although a hook stops it.
        let halted = self.heed_halt();
        (end.and(halted), text)
    }

    /// Sends requests and runs calls until the model ends its turn.
    pub(super) async fn drive(
        &mut self,
        progress: &mut TurnProgress,
        signals: &TurnSignals,
    ) -> Result<(), TurnStop> {
        for _ in 0..self.parts.limits.max_turns {
            let response = self.ask_with_compaction(signals).await?;
            let step = step::next(&response);
            progress.record_response(&response);
            self.append(Entry::Assistant {
                content: response.content,
                model: response.model,
                id: None,
                stop_reason: Some(response.stop_reason),
                usage: response.usage,
            })?;
            self.emit_context();
            match step {
                Step::Finish => {
                    if self
                        .may_end(&progress.text, &mut progress.held, &signals.cancel)
                        .await?
                    {
                        return Ok(());
                    }
                }
                Step::Resume => {}
                Step::Run(calls) => {
                    self.dispatch(calls, signals).await?;
                    self.interject(signals).await?;
                }
                Step::CutOff if progress.continued < self.parts.limits.continuations => {
                    progress.continue_response();
                    self.append(Entry::user(vec![ContentBlock::text(CONTINUE)]))?;
                }
                Step::CutOff => {
                    progress.note_cut_off(self.asked_output);
                    return Ok(());
                }
                Step::Give(error, calls) => {
                    self.leave_unrun(calls)?;
                    return Err(error.into());
                }
            }
        }
        Err(TurnStop::Limit)
    }

    /// Sends the conversation to the model. A conversation that nearly fills the window is
    /// shortened first; one that the server rejects as too long is compacted and sent once more.
    async fn ask_with_compaction(
        &mut self,
        signals: &TurnSignals,
    ) -> Result<ModelResponse, TurnStop> {
        let is_deferred = self.is_not_compacted && self.has_room();
        if self.is_nearly_full() && !is_deferred && !self.clear_old_results()? {
            self.compact_if_possible(signals).await?;
            self.heed_halt()?;
        }
        let asked = self.ask_model(signals).await;
        if !self.history.has_answer() {
            // A summary cannot shorten a conversation without responses.
            return Ok(asked?);
        }
        match asked {
            Ok(response) if response.stop_reason == StopReason::ModelContextWindowExceeded => {
                self.unanswered += response.usage;
            }
            Err(AgentError::Model(ModelError::ContextTooLong(_))) => {}
            asked => return Ok(asked?),
        }
        self.compact(CompactTrigger::Auto, None, signals).await?;
        self.heed_halt()?;
        Ok(self.ask_model(signals).await?)
    }

    /// Compacts the conversation. A failure ends the turn only if the window has no room for a
    /// response; otherwise the next turn tries again.
    async fn compact_if_possible(&mut self, signals: &TurnSignals) -> Result<()> {
        match self.compact(CompactTrigger::Auto, None, signals).await {
            Err(error @ AgentError::NotCompacted(_)) if self.has_room() => {
                tracing::warn!(agent = %self.parts.name, %error, "continuing the turn without a compaction");
                self.is_not_compacted = true;
                self.count_unanswered();
                self.state(MemberState::Working, Some(error.to_string()));
                Ok(())
            }
            compacted => compacted,
        }
    }

    /// Adds error results for calls that are not run.
    pub(super) fn leave_unrun(&mut self, calls: impl IntoIterator<Item = Call>) -> Result<()> {
        let calls = calls.into_iter();
        let results: Vec<_> = calls.map(|call| error_result(&call.id, NOT_RUN)).collect();
        if results.is_empty() {
            return Ok(());
        }
        self.append(Entry::user(results))
    }

    /// Records that the turn ended without a response, so that a restart does not continue it
    /// automatically.
    fn record_end(&mut self, stop: &TurnStop) {
        let (how, text) = match stop {
            TurnStop::Failed(AgentError::NothingToAnswer) | TurnStop::Suspended => {
                return self.count_unanswered();
            }
            TurnStop::Failed(error) => (TurnEnd::Failed, error.to_string()),
            TurnStop::Halted(why) => (
                TurnEnd::Interrupted,
                format!("The turn was ended here by a hook: {why}"),
            ),
            TurnStop::Interrupted => (
                TurnEnd::Interrupted,
                "The turn was interrupted here.".into(),
            ),
            TurnStop::Limit => (
                TurnEnd::TurnLimit,
                format!(
                    "The turn was stopped here, at its limit of {} model requests.",
                    self.parts.limits.max_turns
                ),
            ),
        };
        let usage = std::mem::take(&mut self.unanswered);
        let entry = Entry::TurnEnd { how, text, usage };
        if let Err(error) = self.append(entry.clone()) {
            tracing::warn!(%error, "cannot record the end of a turn");
            self.take(entry);
        }
    }
}

fn limit_text(limit: u32, last_text: &str) -> String {
    let mut text = format!(
        "I stopped before finishing: my turn reached its limit of {limit} model requests. Send a message to continue."
    );
    if !last_text.is_empty() {
        text.push_str("\n\nMy last text:\n");
        text.push_str(last_text);
    }
    text
}
