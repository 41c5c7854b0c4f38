//! Inputs for starting a lead.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use swarm_agent::{EventSink, HostFacts, NoEvents};
use swarm_permissions::RuleSet;
use swarm_protocol::{PeerInbound, SessionId, TeamName, partial_debug};
use swarm_tools::RequiredOutput;
use swarm_ui::PaneInput;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use swarm_supervisor::{MergeCarrier, SpawnContext};

use crate::assemble::ModelServices;

/// How long a run waits for background commands: the timeout of a foreground command.
const COMMAND_WAIT: Duration = Duration::from_mins(10);

/// Initial team of a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// No team. It creates one when needed, or immediately if the team has a name.
    New,
    /// An existing team that it takes over, with the conversation of the last lead.
    TakeOver,
    /// The same, and dead members are respawned.
    Respawn,
}

/// Where a lead finds other sessions, and what it does with their messages.
#[derive(Debug, Clone)]
pub struct PeerPlace {
    /// Directory of the sessions' records.
    pub records: PathBuf,
    /// Directory of the records of Claude Code's sessions.
    pub claude_sessions: PathBuf,
    /// Directory of their sockets.
    pub sockets: PathBuf,
    /// What happens to their messages.
    pub inbound: PeerInbound,
}

/// Tokens that stop a lead.
#[derive(Debug, Clone, Default)]
pub struct StopTokens {
    /// Cancelled to stop gracefully.
    pub stop: CancellationToken,
    /// Cancelled, like `stop`, when the terminal is gone: the run stops and its members wait for
    /// another lead.
    pub hangup: CancellationToken,
    /// Cancelled to stop immediately.
    pub kill: CancellationToken,
}

/// Inputs for a lead.
pub struct LeadParts {
    /// How members are started and stopped.
    pub spawn_context: SpawnContext,
    /// The user's home directory, for rules that begin with `~/`.
    pub home: Option<PathBuf>,
    /// The lead's worktree, if it has one; the lead writes only there.
    pub worktree: Option<PathBuf>,
    /// The id of the lead's conversation.
    pub session: SessionId,
    /// Name of the team, if the caller has chosen one.
    pub team: Option<TeamName>,
    /// Whether that team is new.
    pub beginning: Beginning,
    /// What responds in its turns.
    pub services: ModelServices,
    /// The lead's permission rules.
    pub rules: RuleSet,
    /// Receives the rules in force, also those that a person grants later. `None` until the lead is
    /// assembled: before, the rules of its team and its scratchpad are not known.
    pub rules_in_force: Arc<RwLock<Option<RuleSet>>>,
    /// The view of the run.
    pub events: Arc<dyn EventSink>,
    /// Input from the terminal; `None` without one.
    pub person: Option<UnboundedReceiver<PaneInput>>,
    /// Description of the machine, for the system prompt.
    pub host: HostFacts,
    /// Additional text for the system prompt.
    pub instructions: Vec<String>,
    /// Whether the session is interactive: it waits for input after each turn and ends on request.
    /// Otherwise it runs until the work is done.
    pub is_interactive: bool,
    /// The result that the run must return as JSON, if a schema is given.
    pub output: Option<Arc<RequiredOutput>>,
    /// Whether it is a coordinator, which only delegates to sub-agents.
    pub is_coordinator: bool,
    /// Maximum model requests in one turn.
    pub max_requests: u32,
    /// How long a run waits for background commands when nothing else remains.
    pub command_wait: Duration,
    /// Time limit of the run; the members park then unless the team is removed.
    pub timeout: Option<Duration>,
    /// Whether to delete the team at the end.
    pub remove_team: bool,
    /// Where and how it gets messages of other sessions; `None` if it gets none.
    pub peers: Option<PeerPlace>,
    /// Merges the work of members on other machines; `None` leaves that to a person.
    pub merges: Option<Arc<dyn MergeCarrier>>,
    /// Stop the lead.
    pub stops: StopTokens,
}

impl LeadParts {
    /// Creates a lead with a new conversation, without team, rules and terminal, that runs until its
    /// work is done.
    pub fn new(spawn_context: SpawnContext, services: ModelServices) -> Self {
        Self {
            home: None,
            worktree: None,
            session: SessionId::random(),
            team: None,
            beginning: Beginning::New,
            services,
            rules: RuleSet::default(),
            rules_in_force: Arc::default(),
            events: Arc::new(NoEvents),
            person: None,
            host: HostFacts::default(),
            instructions: Vec::new(),
            is_interactive: false,
            output: None,
            is_coordinator: false,
            max_requests: spawn_context.limits.max_requests,
            command_wait: COMMAND_WAIT,
            timeout: None,
            remove_team: false,
            peers: None,
            merges: None,
            stops: StopTokens::default(),
            spawn_context,
        }
    }
}

partial_debug!(LeadParts: spawn_context, session);
