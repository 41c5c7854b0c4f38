//! What answers in a conversation: our own loop over a model, or another agent's program.

use std::fmt;

use async_trait::async_trait;
use swarm_model::{ContentBlock, StopReason};
use swarm_protocol::{AgentEvent, Usage};

use super::signals::TurnSignals;
use super::types::{Gathered, TurnStop};
use crate::transcript::Entry;
use crate::{AgentParts, Session};

/// Answers the messages that a conversation ends in. The conversation itself (transcript, what was delivered, hooks, turn
/// events) is the session's and the same for every runtime.
#[async_trait]
pub trait AgentRuntime: Send + Sync + fmt::Debug {
    /// Answers until the agent ends its turn, or the turn's signals end it.
    ///
    /// # Errors
    /// [`TurnStop`]: why the agent did not end the turn itself.
    async fn answer(&self, turn: &mut Turn<'_>) -> Result<(), TurnStop>;
}

/// Our own runtime: asks the model of the [`AgentParts`] and runs its calls until the model ends its turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelLoop;

#[async_trait]
impl AgentRuntime for ModelLoop {
    async fn answer(&self, turn: &mut Turn<'_>) -> Result<(), TurnStop> {
        turn.session.drive(&mut turn.gathered, turn.signals).await
    }
}

/// A turn under way, as its runtime sees it.
#[derive(Debug)]
pub struct Turn<'a> {
    pub(super) session: &'a mut Session,
    pub(super) gathered: Gathered,
    pub(super) signals: &'a TurnSignals,
}

impl Turn<'_> {
    /// The texts that wait for an answer, oldest first: mail, reminders and instructions in their envelopes.
    pub fn input(&self) -> Vec<String> {
        self.session.history.waiting_texts()
    }

    /// Rights, permission gate, working directory and whatever else the agent is given.
    pub fn parts(&self) -> &AgentParts {
        &self.session.parts
    }

    /// The two ways in which the turn may be ended from outside.
    pub fn signals(&self) -> &TurnSignals {
        self.signals
    }

    /// Shows something of the agent's work.
    pub fn emit(&self, event: AgentEvent) {
        self.session.emit(event);
    }

    /// Enters the agent's final answer of this turn in the transcript, and asks the user's hooks whether the turn may
    /// end. `false` when one of them keeps it going: [`Turn::input`] then has its reason.
    ///
    /// # Errors
    /// [`TurnStop::Failed`] when the transcript cannot be written.
    pub async fn finish(&mut self, text: &str, usage: Usage) -> Result<bool, TurnStop> {
        self.session.append(Entry::Assistant {
            content: vec![ContentBlock::text(text)],
            model: self.session.parts.model_name.clone(),
            id: None,
            stop_reason: Some(StopReason::EndTurn),
            usage,
        })?;
        text.clone_into(&mut self.gathered.text);
        let held = &mut self.gathered.held;
        let may_end = self.session.may_end(text, held, &self.signals.cancel);
        Ok(may_end.await?)
    }
}
