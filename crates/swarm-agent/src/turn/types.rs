//! What the steps of a turn hand to each other.

use std::sync::Arc;

use serde_json::Value;
use swarm_model::{ModelError, ModelResponse};
use swarm_permissions::{HookEvent, Suggestion};
use swarm_tools::Tool;

use crate::AgentError;

/// The result of a call that the end of its turn came before.
pub(super) const NOT_RUN: &str = "The call was not run: the turn ended before it.";

/// What is known of a call before it runs.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It runs.
    Run(Ready),
    /// It is asked about first.
    Ask {
        ready: Ready,
        why: String,
        suggestions: Vec<Suggestion>,
    },
    /// It does not run.
    Refuse(Refusal),
}

impl Verdict {
    /// Whether the call may be handled beside others: its tool says so, or it is not run at all.
    pub(super) fn runs_in_parallel(&self) -> bool {
        match self {
            Self::Run(ready) => ready.tool.runs_in_parallel(&ready.input),
            Self::Refuse(_) => true,
            Self::Ask { .. } => false,
        }
    }

    /// The call in one line.
    pub(super) fn line(&self, tool: &str) -> String {
        match self {
            Self::Run(ready) | Self::Ask { ready, .. } => ready.tool.one_line(&ready.input),
            Self::Refuse(_) => tool.to_owned(),
        }
    }
}

/// Why a call does not run.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Rules, the mode or whoever was asked deny it, for this reason.
    Denied(String),
    /// Another reason; the text is for the model.
    Other(String),
}

impl Refusal {
    /// What the model is told.
    pub(super) fn text(self) -> String {
        match self {
            Self::Denied(why) => format!("The call was not run: permission denied. {why}"),
            Self::Other(text) => text,
        }
    }
}

/// A tool and the input to call it with.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
}

/// What a turn gathers on its way.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The model's last words, and what it had said before them in the same, continued answer.
    pub(super) text: String,
    /// Answers continued so far.
    pub(super) continued: u32,
    /// Whether the next answer goes on where `text` stopped.
    pub(super) continuing: bool,
    /// How often in a row hooks have kept the turn from ending.
    pub(super) held: u32,
}

impl Gathered {
    /// Keeps the last words that are words: an answer of calls alone does not hide what was said before it.
    pub(super) fn hear(&mut self, response: &ModelResponse) {
        let text = response.text();
        if self.continuing {
            self.text.push_str(&text);
        } else if !text.trim().is_empty() {
            self.text = text;
        }
        self.continuing = false;
    }

    pub(super) fn go_on(&mut self) {
        self.continued += 1;
        self.continuing = true;
    }

    pub(super) fn say_cut_off(&mut self, limit: u32) {
        let note =
            format!("\n\n[The answer was cut off here, at the limit of {limit} output tokens.]");
        self.text.push_str(&note);
    }
}

/// Why a turn ends before the agent ends it.
#[derive(Debug)]
pub enum TurnStop {
    /// It made as many requests as a turn may.
    Limit,
    /// [`crate::TurnSignals::cancel`] fell.
    Interrupted,
    /// [`crate::TurnSignals::suspend`] fell; the turn is taken up again later.
    Suspended,
    /// A hook of the user ended it, for this reason.
    Halted(String),
    /// It could not go on.
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

/// An event that happened where no hook can run.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(super) event: HookEvent,
    pub(super) matched: Option<&'static str>,
    pub(super) fields: Value,
}
