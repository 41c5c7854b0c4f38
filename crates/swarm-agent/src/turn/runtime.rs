//! Agent runtimes: swarm's model loop, or the program of another agent.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_model::{ContentBlock, StopReason};
use swarm_protocol::{AgentEvent, Usage};

use super::outcome::TurnSignals;
use super::types::{TurnProgress, TurnStop};
use crate::transcript::Entry;
use crate::{AgentParts, Result, Session};

/// Responds to the messages at the end of a conversation. The session handles transcript, delivery,
/// hooks and turn events for every runtime.
#[async_trait]
pub trait AgentRuntime: Send + Sync + fmt::Debug {
    /// Responds until the agent ends its turn or the turn's signals end it.
    ///
    /// # Errors
    /// [`TurnStop`] if the agent did not end the turn.
    async fn answer(&self, turn: &mut Turn<'_>) -> Result<(), TurnStop>;

    /// Prepares the runtime before the member reports that it is ready.
    ///
    /// # Errors
    /// [`crate::AgentError::Runtime`] if it cannot respond.
    async fn start(&self, _agent: &AgentParts) -> Result<()> {
        Ok(())
    }

    /// Ends what the runtime has started, and waits until it is cleaned up.
    async fn stop(&self) {}
}

/// swarm's runtime: sends requests to the model of the [`AgentParts`] and runs its calls until the
/// model ends its turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelLoop;

#[async_trait]
impl AgentRuntime for ModelLoop {
    async fn answer(&self, turn: &mut Turn<'_>) -> Result<(), TurnStop> {
        turn.session.drive(&mut turn.progress, turn.signals).await
    }
}

/// A running turn, as its runtime sees it.
#[derive(Debug)]
pub struct Turn<'a> {
    pub(super) session: &'a mut Session,
    pub(super) progress: TurnProgress,
    pub(super) signals: &'a TurnSignals,
}

impl Turn<'_> {
    /// Returns the texts without a response, oldest first: mail, reminders and instructions in
    /// their envelopes.
    pub fn input(&self) -> Vec<String> {
        self.session.history.waiting_texts()
    }

    /// Waits until the input is on disk. A program that acts on it must not get it earlier.
    ///
    /// # Errors
    /// [`TurnStop::Failed`] if the transcript cannot be written.
    pub fn flush(&mut self) -> Result<(), TurnStop> {
        Ok(self.session.flush()?)
    }

    /// Returns the components of the agent, such as rights, permission gate and working directory.
    pub fn parts(&self) -> &AgentParts {
        &self.session.parts
    }

    /// Returns the signals that can end the turn from outside.
    pub fn signals(&self) -> &TurnSignals {
        self.signals
    }

    /// Returns the file with the runtime's own state, next to the transcript.
    pub fn state_file(&self) -> PathBuf {
        let transcript = self.session.transcript().path();
        transcript.with_extension("").join("runtime.json")
    }

    /// Returns whether the agent has responded in this conversation before.
    pub fn has_response(&self) -> bool {
        self.session.history.has_answer()
    }

    /// Emits an event of the agent.
    pub fn emit(&self, event: AgentEvent) {
        self.session.emit(event);
    }

    /// Adds the agent's texts of this turn to the transcript and runs the `Stop` hooks. The last
    /// text is the result of the turn. Returns `false` if a hook continues the turn; [`Turn::input`]
    /// then contains its reason.
    ///
    /// # Errors
    /// [`TurnStop::Failed`] if the transcript cannot be written.
    pub async fn finish(&mut self, texts: &[String], usage: Usage) -> Result<bool, TurnStop> {
        let text = texts.last().map_or("", String::as_str);
        let content = texts.iter().map(ContentBlock::text).collect();
        self.session.append(Entry::Assistant {
            content,
            model: self.session.parts.model_name.clone(),
            id: None,
            stop_reason: Some(StopReason::EndTurn),
            usage,
        })?;
        text.clone_into(&mut self.progress.text);
        let held = &mut self.progress.held;
        let may_end = self.session.may_end(text, held, &self.signals.cancel);
        Ok(may_end.await?)
    }
}
