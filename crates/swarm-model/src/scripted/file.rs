//! Format of the scenario file. `load` converts it to a validated [`super::scenario::Scenario`].

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioFile {
    /// Delay after each word that is streamed.
    pub(super) chunk_ms: Option<u64>,
    #[serde(default)]
    pub(super) turn: Vec<Spanned<TurnFile>>,
}

/// Reaction of an agent to one prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnFile {
    pub(super) agent: Option<String>,
    pub(super) nth: Option<usize>,
    pub(super) contains: Option<String>,
    #[serde(default)]
    pub(super) contains_all: Vec<String>,
    pub(super) matches: Option<Spanned<String>>,
    pub(super) system_matches: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) seen_all: Vec<String>,
    #[serde(default)]
    pub(super) step: Vec<Spanned<StepFile>>,
    #[serde(default)]
    pub(super) interrupt: Vec<Spanned<InterruptFile>>,
}

/// Reaction of an agent to a text that arrives between its tool calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InterruptFile {
    pub(super) contains: Option<String>,
    pub(super) matches: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) resume: bool,
    #[serde(default)]
    pub(super) step: Vec<Spanned<StepFile>>,
}

/// One message of the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepFile {
    pub(super) capture: Option<Spanned<String>>,
    pub(super) wait_ms: Option<u64>,
    pub(super) think: Option<Spanned<String>>,
    pub(super) say: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) call: Vec<Spanned<CallFile>>,
    pub(super) fail: Option<Spanned<FailFile>>,
    pub(super) stop: Option<StopKind>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallFile {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Map<String, Value>,
    /// Raw text instead of `input`, to simulate a model that writes invalid JSON.
    pub(super) broken_input: Option<String>,
}

/// A simulated failure of the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailFile {
    pub(super) kind: FailKind,
    pub(super) message: Option<String>,
    /// Number of attempts that fail before one succeeds; without it every attempt fails.
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) wait_ms: u64,
    /// Whether the text is streamed before the failure.
    #[serde(default)]
    pub(super) after_text: bool,
}

/// Errors that a scenario can simulate, named after those of [`crate::ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailKind {
    Auth,
    Billing,
    UnknownModel,
    InvalidRequest,
    ContextTooLong,
    RateLimited,
    Overloaded,
    Server,
    Network,
    IdleTimeout,
    BadStream,
}

/// Stop reasons that a scenario can simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopKind {
    EndTurn,
    ToolUse,
    MaxTokens,
    PauseTurn,
    Refusal,
}
