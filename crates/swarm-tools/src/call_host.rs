//! Services that the host provides to a running call.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// The host of a call: asks the user questions, displays progress, and knows the caller's permissions.
#[async_trait]
pub trait CallHost: Send + Sync + fmt::Debug {
    /// Asks the user the questions of an `AskUserQuestion` input. `why` says who asks. When
    /// `cancel` is triggered, the questions are withdrawn.
    async fn ask(&self, input: Value, why: String, cancel: CancellationToken) -> PersonAnswer;

    /// Asks the user whether sandboxed commands may connect to a host: `example.com`, or
    /// `example.com:22` for other ports than 80 and 443. When `cancel` is triggered, the question is
    /// withdrawn. Returns `None` if nobody answered.
    async fn ask_network(&self, host: String, cancel: CancellationToken) -> Option<bool> {
        drop((host, cancel));
        None
    }

    /// Displays progress. The line is short and contains no control characters.
    fn progress(&self, line: String);

    /// Checks whether the caller could make another agent's call without approval, by its own rules
    /// and mode.
    ///
    /// # Errors
    /// The reason why not, as a clause.
    fn may_make(&self, call: &MemberCall<'_>) -> Result<(), String>;
}

/// A call of another agent.
#[derive(Debug, Clone, Copy)]
pub struct MemberCall<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// The input.
    pub input: &'a Value,
    /// The other agent's working directory, absolute and without symbolic links.
    pub cwd: &'a Path,
}

/// Answer of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonAnswer {
    /// The answer to each question.
    Answered(Map<String, Value>),
    /// The user skipped the questions.
    Skipped,
    /// The questions were refused; the reason is part of a sentence.
    Refused(String),
    /// Nobody answered in time, or no user was available.
    Unanswered,
}
