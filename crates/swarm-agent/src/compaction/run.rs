//! Compacts a conversation.

use std::sync::Arc;

use serde_json::json;
use swarm_hooks::HookOutcome;
use swarm_model::{
    ContentBlock, ModelError, ModelRequest, ModelResponse, Role, StoredBlock, StoredMessage,
};
use swarm_permissions::HookEvent;
use swarm_protocol::{AgentEvent, ContextUse, MemberState, Thinking, Usage};

use super::meter::{BYTES_A_TOKEN, size};
use super::pictures::within_limits;
use super::shorten::{last_of, with_short_results};
use super::{attach, summary, tail};
use crate::fork::fork_opening;
use crate::instructions::Instructions;
use crate::transcript::{CompactTrigger, Compaction, Entry};
use crate::{AgentError, Result, Session, TurnSignals};

/// Most attempts per compaction.
const ATTEMPTS: usize = 3;

/// Fractions (1/n) of the window for the last messages, for files, and for the summary.
pub(super) const TAIL: u64 = 6;
const FILES: u64 = 10;
const SUMMARY: u64 = 10;

/// Words of a summary per hundred tokens.
const WORDS: u64 = 60;

/// Output tokens that the summary request reserves for adaptive thinking.
const ADAPTIVE_THINKING: u64 = 16_000;

/// How much of the conversation the summary request contains and how much is kept; each failed
/// attempt reduces it.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// Characters per result in the request, and the percentage of the window that the request may
    /// use; `None` sends everything.
    asked: Option<(usize, u64)>,
    /// Keep only what is required: no files, and a shorter tail of messages.
    is_lean: bool,
}

/// Why an attempt failed.
enum Failure {
    /// The request for a summary does not fit.
    TooLong(String),
    /// The retained part does not fit.
    TooMuch(String),
    /// A retry may succeed.
    Other(String),
    /// A retry cannot succeed.
    Final(AgentError),
}

impl Session {
    /// Returns whether the conversation has reached the size at which it is compacted.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.ceiling()
            .is_some_and(|ceiling| self.meter.tokens() >= ceiling)
            && self.history.has_answer()
    }

    /// Returns the tokens at which the conversation is compacted. Above it there must be room for a
    /// response, unless that would leave less than half of the window for the conversation.
    fn ceiling(&self) -> Option<u64> {
        let limits = &self.parts.limits;
        let window = limits.window?;
        let share = window * u64::from(limits.compact_at) / 100;
        let below_answer = window.saturating_sub(u64::from(limits.room_for_answer()));
        Some(if below_answer >= window / 2 {
            share.min(below_answer)
        } else {
            share
        })
    }

    /// Returns whether the window has room for a response to the current conversation.
    pub(crate) fn has_room(&self) -> bool {
        let limits = &self.parts.limits;
        let full = self.meter.tokens() + u64::from(limits.room_for_answer());
        limits.window.is_some_and(|window| full <= window)
    }

    /// Emits how full the window is.
    pub(crate) fn emit_context(&self) {
        if let Some(window) = self.parts.limits.window {
            let tokens = self.meter.tokens();
            self.emit(AgentEvent::Context(ContextUse { tokens, window }));
        }
    }

    /// Compacts the conversation at a person's request. `wish` is an additional instruction for the
    /// summary.
    ///
    /// # Errors
    /// [`AgentError::NotCompacted`], and errors of the model. The conversation is unchanged then.
    pub async fn compact_by_hand(
        &mut self,
        wish: Option<&str>,
        signals: impl Into<TurnSignals>,
    ) -> Result<()> {
        if !self.history.has_answer() {
            let why = "there is nothing to summarize yet".to_owned();
            return Err(AgentError::NotCompacted(why));
        }
        let signals = signals.into();
        let compacted = self.compact(CompactTrigger::Manual, wish, &signals).await;
        self.count_unanswered();
        compacted
    }

    /// Replaces the conversation with a summary of itself. `wish` is an additional instruction for
    /// the summary. Fails after three attempts or with a permanent error of the model; the
    /// conversation is unchanged then.
    pub(crate) async fn compact(
        &mut self,
        trigger: CompactTrigger,
        wish: Option<&str>,
        signals: &TurnSignals,
    ) -> Result<()> {
        let detail = "compacting the conversation".to_owned();
        self.state(MemberState::Working, Some(detail));
        let compacted = self.try_compacting(trigger, wish, signals).await;
        self.state(MemberState::Working, None);
        let (before, summary) = compacted?;
        self.emit(AgentEvent::Compacted {
            trigger: trigger.word().to_owned(),
            before,
            after: self.meter.tokens(),
        });
        self.emit_context();
        let fields = json!({"trigger": trigger.word(), "compact_summary": summary});
        let word = Some(trigger.word());
        self.fire(HookEvent::PostCompact, word, fields, &signals.cancel)
            .await;
        self.fire_noted(&signals.cancel).await;
        Ok(())
    }

    async fn try_compacting(
        &mut self,
        trigger: CompactTrigger,
        wish: Option<&str>,
        signals: &TurnSignals,
    ) -> Result<(u64, String)> {
        let hooks = self.ask_hooks(trigger, wish, signals).await?;
        let extra_instructions: Vec<String> = wish
            .map(str::to_owned)
            .into_iter()
            .chain(hooks.model_context())
            .collect();
        let mut extent = Extent {
            asked: None,
            is_lean: false,
        };
        let mut reasons: Vec<String> = Vec::new();
        for _ in 0..ATTEMPTS {
            let why = match self
                .attempt(trigger, &extra_instructions, extent, signals)
                .await
            {
                Ok(done) => return Ok(done),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::TooLong(why)) => {
                    extent.asked = Some(match extent.asked {
                        None => (1000, 60),
                        Some(_) => (200, 30),
                    });
                    why
                }
                Err(Failure::TooMuch(why)) => {
                    extent.is_lean = true;
                    why
                }
                Err(Failure::Other(why)) => why,
            };
            tracing::warn!(agent = %self.parts.name, %why, "an attempt to compact the conversation failed");
            reasons.push(why);
        }
        reasons.dedup();
        let why = format!("{ATTEMPTS} attempts failed ({})", reasons.join("; "));
        Err(AgentError::NotCompacted(why))
    }

    /// Runs `PreCompact` hooks, which may add instructions for the summary or refuse the
    /// compaction.
    async fn ask_hooks(
        &self,
        trigger: CompactTrigger,
        wish: Option<&str>,
        signals: &TurnSignals,
    ) -> Result<HookOutcome> {
        let fields = json!({
            "trigger": trigger.word(),
            "custom_instructions": wish,
        });
        let event = HookEvent::PreCompact;
        let outcome = self
            .fire(event, Some(trigger.word()), fields, &signals.cancel)
            .await;
        if outcome.interrupted {
            return Err(ModelError::Cancelled.into());
        }
        match outcome.refusal().or_else(|| outcome.stop.clone()) {
            Some(why) => Err(AgentError::NotCompacted(format!(
                "a hook refuses it: {why}"
            ))),
            None => Ok(outcome),
        }
    }

    /// Requests a summary and rebuilds the conversation from it. Returns the tokens before, and the
    /// summary.
    async fn attempt(
        &mut self,
        trigger: CompactTrigger,
        extra_instructions: &[String],
        extent: Extent,
        signals: &TurnSignals,
    ) -> Result<(u64, String), Failure> {
        let before = self.meter.tokens();
        let whole = within_limits(self.history.for_model());
        let window = self.window(&whole);
        let (summary, usage) = self
            .summary(&whole, window, extra_instructions, extent.asked, signals)
            .await?;
        let (messages, instructions) = self
            .rebuilt(&whole, &summary, window, extent, signals)
            .await;
        let after = self.estimate(&messages);
        let most = match (self.ceiling(), trigger) {
            (Some(ceiling), _) => ceiling,
            (None, CompactTrigger::Auto) => self.estimate(&whole),
            (None, CompactTrigger::Manual) => u64::MAX,
        };
        if after >= most {
            self.unanswered += usage;
            return Err(Failure::TooMuch(format!(
                "the retained part has about {after} tokens and must have less than {most}"
            )));
        }
        let mut spent = usage;
        spent += self.unanswered;
        let entry = Entry::Compacted(Compaction {
            trigger,
            pre_tokens: before,
            usage: spent,
            open: self.history.is_open(),
            messages,
        });
        self.append(entry).map_err(Failure::Final)?;
        self.unanswered = Usage::default();
        if instructions.is_some() {
            self.instructions = instructions;
        }
        Ok((before, summary))
    }

    /// Returns the window in tokens, or the size of the conversation if the window is unknown.
    fn window(&self, conversation: &[Arc<StoredMessage>]) -> u64 {
        let known = self.parts.limits.window;
        known.unwrap_or_else(|| self.estimate(conversation))
    }

    /// Estimates the tokens of a request with these messages.
    fn estimate(&self, messages: &[Arc<StoredMessage>]) -> u64 {
        let messages: u64 = messages.iter().map(|message| size(message)).sum();
        (self.head.bytes() + messages) / BYTES_A_TOKEN
    }

    /// Requests a summary of the conversation from the model.
    async fn summary(
        &mut self,
        whole: &[Arc<StoredMessage>],
        window: u64,
        extra_instructions: &[String],
        asked: Option<(usize, u64)>,
        signals: &TurnSignals,
    ) -> Result<(String, Usage), Failure> {
        let conversation = match asked {
            None => whole.to_vec(),
            Some((chars, percent)) => {
                let short = with_short_results(whole, chars);
                last_of(short, window * BYTES_A_TOKEN * percent / 100)
            }
        };
        let question = summary::question(window / SUMMARY * WORDS / 100, extra_instructions);
        let messages = conversation.into_iter().chain([question]).collect();
        let request = self.request();
        // The limit includes thinking; it is not part of the cached prefix.
        let most = thinking_room(request.thinking) + window / SUMMARY * 2;
        let request = ModelRequest {
            messages,
            max_tokens: request
                .max_tokens
                .min(u32::try_from(most).unwrap_or(u32::MAX)),
            ..request
        };
        let response = match self.ask(request, signals, false).await {
            Ok(response) => response,
            Err(AgentError::Model(error @ ModelError::ContextTooLong(_))) => {
                return Err(Failure::TooLong(error.to_string()));
            }
            Err(error) => return Err(Failure::Final(error)),
        };
        self.meter.next_is_inflated = false;
        let ModelResponse { usage, .. } = response;
        match summary::summary(&response) {
            Ok(text) => Ok((text, usage)),
            Err(why) => {
                self.unanswered += usage;
                Err(Failure::Other(why))
            }
        }
    }

    /// Returns the rebuilt conversation and the state of its instructions.
    async fn rebuilt(
        &self,
        whole: &[Arc<StoredMessage>],
        summary: &str,
        window: u64,
        extent: Extent,
        signals: &TurnSignals,
    ) -> (Vec<Arc<StoredMessage>>, Option<Instructions>) {
        let bytes = window * BYTES_A_TOKEN;
        let (for_tail, for_files) = if extent.is_lean {
            (bytes / TAIL / 4, 0)
        } else {
            (bytes / TAIL, bytes / FILES)
        };
        let mut tail = tail::tail(whole, for_tail);
        if extent.asked.is_some() {
            // The server may have rejected the request because of the bytes of its images.
            tail = with_short_results(&tail, usize::MAX);
        }
        let (news, instructions) = self.fresh_instructions();
        let brief = self.parts.brief.as_ref().and_then(|brief| brief.brief());
        let texts = news
            .into_iter()
            .chain(self.session_hooks(signals).await)
            .chain([summary::framed(summary, self.transcript().path())])
            .chain(attach::notes(&self.recent))
            .chain(brief.map(|brief| attach::team(&brief)))
            .chain(self.recent_files(&tail::files_read(&tail), for_files).await);
        let texts = texts.map(|text| StoredBlock::from(&ContentBlock::text(text)));
        // Without its directive the model would not know that it is a fork.
        let directive = fork_opening(whole).cloned().into_iter();
        let blocks = directive.chain(texts).collect();
        let first = Arc::new(StoredMessage {
            role: Role::User,
            blocks,
        });
        (std::iter::once(first).chain(tail).collect(), instructions)
    }

    /// Returns the instructions as at the start of a conversation.
    fn fresh_instructions(&self) -> (Option<String>, Option<Instructions>) {
        let Some(sources) = self.parts.instructions.clone() else {
            return (None, None);
        };
        let cwd = &self.parts.tool_context.cwd;
        let mut fresh = Instructions::new(sources, cwd).after_compaction();
        let news = fresh.news(true, |_| false);
        (news.and_then(|news| news.text), Some(fresh))
    }

    /// Returns what `SessionStart` hooks add. Sub-agents do not run them.
    async fn session_hooks(&self, signals: &TurnSignals) -> Option<String> {
        if self.parts.hooks.end_event() != HookEvent::Stop {
            return None;
        }
        let context = self.fire_start("compact", &signals.cancel).await;
        context.map(|context| context.text)
    }

    async fn recent_files(&self, shown: &[String], bytes: u64) -> Vec<String> {
        let Some(read) = self.parts.tool("Read") else {
            return Vec::new();
        };
        let context = self.call_context();
        let may_read = |input: &serde_json::Value| self.may_run(read, input);
        attach::files(&self.recent, read, &context, shown, bytes, may_read).await
    }
}

/// Returns the output tokens that thinking may use before the summary.
fn thinking_room(thinking: Thinking) -> u64 {
    match thinking {
        Thinking::Off => 0,
        Thinking::Adaptive => ADAPTIVE_THINKING,
        Thinking::Tokens(tokens) => tokens.into(),
    }
}
