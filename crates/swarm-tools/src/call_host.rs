//! Services that the host provides to a running call: permission, its mode, and background
//! sub-agents.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use serde_json::{Map, Value};
use swarm_protocol::PermissionMode;
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

/// The sub-agents of this process.
#[async_trait]
pub trait BackgroundAgents: Send + Sync + fmt::Debug {
    /// Whether a sub-agent has this id or name.
    fn knows(&self, who: &str) -> bool;

    /// Sends a message to a sub-agent by id or name. A running sub-agent reads it between two
    /// calls; a finished one resumes in the background. Returns `None` if there is no such
    /// sub-agent; an error gives the reason for a refusal.
    async fn send(&self, to: &str, text: &str) -> Option<Result<String, String>>;
}

/// Switches an agent into plan mode and back, and grants the permissions of a skill in use. Never
/// exceeds the agent's own permissions.
pub trait ModeSwitch: Send + Sync + fmt::Debug {
    /// Returns the current mode.
    fn mode(&self) -> PermissionMode;

    /// Switches to plan mode and remembers the previous mode.
    fn enter_plan(&self);

    /// Returns the mode after plan mode, or `None` if the agent is limited to plan mode.
    fn after_plan(&self) -> Option<PermissionMode>;

    /// Leaves plan mode and returns the new mode. Returns `None` and changes nothing if the agent
    /// is limited to plan mode.
    fn leave_plan(&self) -> Option<PermissionMode>;

    /// Allows calls that match these permission rules until the turn ends. Deny and ask rules still
    /// apply.
    fn grant_for_turn(&self, rules: &[String], origin: &str);
}
