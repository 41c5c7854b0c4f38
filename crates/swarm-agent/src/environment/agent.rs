//! What one agent is told about its environment, kept beside its transcript.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::{read_optional, replace_passing};
use swarm_protocol::Clock;

use super::section::{EnvironmentFact, PromptEnvironment, changeable};

/// Extension of the file that keeps a section.
const KEPT: &str = "environment.md";

/// The environment of one agent: its section of the system prompt, and the facts that may change.
pub struct AgentEnvironment {
    section: String,
    cwd: PathBuf,
    model: String,
    clock: Arc<dyn Clock>,
}

impl AgentEnvironment {
    /// The environment of a conversation. The section that its first process was given is kept next to the transcript, in
    /// `<transcript>.environment.md`, so that the prompt is the same when the conversation is resumed.
    pub fn of(transcript: &Path, at: &PromptEnvironment<'_>, clock: Arc<dyn Clock>) -> Self {
        let path = transcript.with_extension(KEPT);
        let kept = read_optional(&path).ok().flatten();
        let kept = kept.and_then(|bytes| String::from_utf8(bytes).ok());
        let section = kept
            .map(|text| text.trim_end().to_owned())
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| {
                let section = at.section();
                if let Err(error) = replace_passing(&path, section.as_bytes()) {
                    // A resumed conversation then begins its prompt anew, which costs no more than its cache.
                    tracing::warn!(%error, "the environment section is not kept");
                }
                section
            });
        Self {
            section,
            cwd: at.cwd.to_owned(),
            model: at.model.to_owned(),
            clock,
        }
    }

    /// The section of the system prompt.
    pub fn section(&self) -> &str {
        &self.section
    }

    /// The facts at this moment that may change, but for those of a team.
    pub(super) fn facts(&self) -> Vec<EnvironmentFact> {
        changeable(&self.cwd, &self.model, self.clock.now())
    }
}

impl fmt::Debug for AgentEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentEnvironment")
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}
