//! Services that the host provides to a running call.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// The host of a call: asks the user questions and displays progress.
#[async_trait]
pub trait CallHost: Send + Sync + fmt::Debug {
    /// Asks the user the questions of an `AskUserQuestion` input. `why` says who asks. When
    /// `cancel` is triggered, the questions are withdrawn.
    async fn ask(&self, input: Value, why: String, cancel: CancellationToken) -> PersonAnswer;

    /// Displays progress. The line is short and contains no control characters.
    fn progress(&self, line: String);
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
