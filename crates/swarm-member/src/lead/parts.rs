//! What the program that starts a lead gives it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use swarm_agent::{AgentRuntime, EventSink, HostFacts, ModelFactory};
use swarm_model::Model;
use swarm_permissions::RuleSet;
use swarm_protocol::{SessionId, TeamName};
use swarm_ui::PaneInput;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use swarm_supervisor::SpawnContext;

/// What a lead begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// No team. It creates one, at once if the team has a name.
    New,
    /// A team that it takes over, with the conversation of the last lead.
    TakeOver,
    /// The same, and dead members are spawned again.
    Respawn,
}

/// Everything that a lead works with.
pub struct LeadParts {
    /// How members are started and stopped.
    pub spawn_context: SpawnContext,
    /// The user's home directory, for rules that begin with `~/`.
    pub home: Option<PathBuf>,
    /// The worktree outside of which the lead writes nothing, if it has one of its own.
    pub worktree: Option<PathBuf>,
    /// The id of the lead's conversation.
    pub session: SessionId,
    /// Name of the team, if the caller has chosen one.
    pub team: Option<TeamName>,
    /// Whether that team is new.
    pub beginning: Beginning,
    /// What answers in its conversation.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Creates the models of sub-agents.
    pub models: Arc<dyn ModelFactory>,
    /// The lead's own rules.
    pub rules: RuleSet,
    /// The view of the run.
    pub events: Arc<dyn EventSink>,
    /// What a person types into the terminal of the run; `None` where nobody can type.
    pub person: Option<UnboundedReceiver<PaneInput>>,
    /// The machine, for the system prompt.
    pub host: HostFacts,
    /// Further text for the system prompt.
    pub instructions: Vec<String>,
    /// Whether a person leads through it: it has no end of its own and waits for them after each
    /// turn. Else it works without anybody at its terminal until the work is done.
    pub is_interactive: bool,
    /// Whether it only delegates, to workers that are its sub-agents.
    pub is_coordinator: bool,
    /// Model requests in one turn.
    pub max_requests: u32,
    /// How long a run waits for commands in the background once nothing else is left to do.
    pub command_wait: Duration,
    /// Ends the run after this time; the members park unless the team is removed.
    pub timeout: Option<Duration>,
    /// Removes the team at the end.
    pub remove_team: bool,
    /// Cancelled when a person asks for a graceful end.
    pub stop: CancellationToken,
    /// Cancelled, like `stop`, when the terminal is gone: the run ends and its members wait for
    /// another lead.
    pub hangup: CancellationToken,
    /// Cancelled when a person asks for an immediate end.
    pub kill: CancellationToken,
}

impl fmt::Debug for LeadParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeadParts")
            .field("spawn_context", &self.spawn_context)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
