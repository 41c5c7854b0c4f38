//! Types that the steps of a turn share.

use std::sync::Arc;

use serde_json::Value;
use swarm_model::{ModelError, ModelResponse};
use swarm_permissions::{HookEvent, Suggestion};
use swarm_tools::Tool;

use crate::AgentError;

/// The result of a call that was not started before the turn ended.
pub(super) const NOT_RUN: &str = "The call was not run: the turn ended before it.";

#[derive(Debug)]
pub(super) enum Verdict {
    Run(PreparedCall),
    Ask {
        ready: PreparedCall,
        why: String,
        suggestions: Vec<Suggestion>,
        /// Whether a hook requires approval, so that rules and mode do not decide.
        by_hook: bool,
    },
    Refuse(Refusal),
}

impl Verdict {
    /// Returns whether the call may run in parallel: its tool allows it, or it does not run.
    pub(super) fn runs_in_parallel(&self) -> bool {
        match self {
            Self::Run(ready) => ready.tool.runs_in_parallel(&ready.input),
            Self::Refuse(_) => true,
            Self::Ask { .. } => false,
        }
    }

    pub(super) fn line(&self, tool: &str) -> String {
        match self {
            Self::Run(ready) | Self::Ask { ready, .. } => ready.tool.one_line(&ready.input),
            Self::Refuse(_) => tool.to_owned(),
        }
    }
}

#[derive(Debug)]
pub(super) enum Refusal {
    /// Denied by rules, the mode, a person or the lead, with the reason.
    Denied(String),
    /// Another reason; the text is for the model.
    Other(String),
}

impl Refusal {
    pub(super) fn text(self) -> String {
        match self {
            Self::Denied(why) => format!("The call was not run: permission denied. {why}"),
            Self::Other(text) => text,
        }
    }
}

/// A tool and its validated input.
#[derive(Debug, Clone)]
pub(super) struct PreparedCall {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
    /// Whether the approval replaced the input of the model.
    pub(super) changed: bool,
}

impl PreparedCall {
    /// Creates a call with the input that the model gave it.
    pub(super) fn new(tool: &Arc<dyn Tool>, input: Value) -> Self {
        Self {
            tool: Arc::clone(tool),
            input,
            changed: false,
        }
    }

    /// Returns the text before the result of a changed call, for the model. Otherwise the
    /// conversation would show a result next to another call.
    pub(super) fn change_note(&self) -> Option<String> {
        let input = self.changed.then_some(&self.input)?;
        Some(format!(
            "[The call was changed with the approval. It was made with this input: {input}]\n"
        ))
    }
}

#[derive(Debug, Default)]
pub(super) struct TurnProgress {
    /// The model's last text, including the earlier parts of a continued response.
    pub(super) text: String,
    /// Number of continued responses.
    pub(super) continued: u32,
    /// Whether the next response continues `text`.
    pub(super) continuing: bool,
    /// Number of consecutive times that hooks kept the turn from ending.
    pub(super) held: u32,
}

impl TurnProgress {
    /// Keeps the last text that is not empty: a response with calls alone does not replace it.
    pub(super) fn record_response(&mut self, response: &ModelResponse) {
        let text = response.text();
        if self.continuing {
            self.text.push_str(&text);
        } else if !text.trim().is_empty() {
            self.text = text;
        }
        self.continuing = false;
    }

    pub(super) fn continue_response(&mut self) {
        self.continued += 1;
        self.continuing = true;
    }

    pub(super) fn note_cut_off(&mut self, limit: u32) {
        let note =
            format!("\n\n[The answer was cut off here, at the limit of {limit} output tokens.]");
        self.text.push_str(&note);
    }
}

/// The reason why a turn ended early.
#[derive(Debug)]
pub enum TurnStop {
    /// The limit of model requests was reached.
    Limit,
    /// [`crate::TurnSignals::cancel`] was cancelled.
    Interrupted,
    /// [`crate::TurnSignals::suspend`] was cancelled; the turn continues later.
    Suspended,
    /// A hook stopped the turn, for this reason.
    Halted(String),
    /// The turn failed.
    Failed(AgentError),
}

impl From<AgentError> for TurnStop {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Model(ModelError::Cancelled) => Self::Interrupted,
            error => Self::Failed(error),
        }
    }
}

/// A hook event that waits for the next opportunity to run its hooks.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(super) event: HookEvent,
    pub(super) matched: Option<&'static str>,
    pub(super) fields: Value,
}
