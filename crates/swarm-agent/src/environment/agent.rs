//! The environment of one agent, saved next to its transcript.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::{read_optional, replace_passing};
use swarm_protocol::{Clock, partial_debug};

use super::section::{EnvironmentFact, PromptEnvironment, changeable};

/// Extension of the file with the saved section.
const SAVED_EXTENSION: &str = "environment.md";

/// The environment of one agent: its section of the system prompt, and the facts that may change.
pub struct AgentEnvironment {
    section: String,
    cwd: PathBuf,
    model: String,
    clock: Arc<dyn Clock>,
}

impl AgentEnvironment {
    /// Creates the environment of a conversation. The section of its first process is saved next to
    /// the transcript, in `<transcript>.environment.md`, so that the prompt is unchanged when the
    /// conversation is resumed.
    pub fn of(transcript: &Path, at: &PromptEnvironment<'_>, clock: Arc<dyn Clock>) -> Self {
        let path = transcript.with_extension(SAVED_EXTENSION);
        let saved = read_optional(&path).ok().flatten();
        let saved = saved.and_then(|bytes| String::from_utf8(bytes).ok());
        let section = saved
            .map(|text| text.trim_end().to_owned())
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| {
                let section = at.section();
                if let Err(error) = replace_passing(&path, section.as_bytes()) {
                    // A resumed conversation then has a new prompt, which only costs its cache
                    // entry.
                    tracing::warn!(%error, "cannot save the environment section");
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

    /// Returns the section of the system prompt.
    pub fn section(&self) -> &str {
        &self.section
    }

    /// Returns the current values of the facts that may change, except those of a team.
    pub(super) fn facts(&self) -> Vec<EnvironmentFact> {
        changeable(&self.cwd, &self.model, self.clock.now())
    }
}

partial_debug!(AgentEnvironment: cwd);
