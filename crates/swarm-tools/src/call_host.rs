//! What a call can turn to while it runs.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// The agent around a call: a person who can be asked, and somewhere to show how far the call is.
#[async_trait]
pub trait CallHost: Send + Sync + fmt::Debug {
    /// Asks a person the questions of an input of `AskUserQuestion`. `why` says who asks. When `cancel` falls, the questions
    /// are withdrawn.
    async fn ask(&self, input: Value, why: String, cancel: CancellationToken) -> PersonAnswer;

    /// Shows how far the call is. The line is short and free of control characters.
    fn progress(&self, line: String);
}

/// What a person said.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonAnswer {
    /// The answer to each question.
    Answered(Map<String, Value>),
    /// The questions were seen and passed over.
    Skipped,
    /// They were refused, or nobody was there; the reason is half a sentence.
    Refused(String),
}
