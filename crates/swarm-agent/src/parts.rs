//! The components of an agent.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_hooks::AgentHooks;
use swarm_model::Model;
use swarm_permissions::RemovedTool;
use swarm_protocol::Skill;
use swarm_tools::{Tool, ToolContext};

use crate::{
    AgentEnvironment, Brief, EventSink, ForkPoint, InstructionSources, Interjections,
    PermissionGate, Rights, SessionLimits,
};

/// Everything a session needs besides its transcript.
#[derive(Debug, Clone)]
pub struct AgentParts {
    /// Name of the agent in model requests; a scripted model matches on it.
    pub name: String,
    /// The system prompt in blocks, including facts about the environment. It must not change
    /// during a conversation, because that would invalidate the prompt cache.
    pub system: Vec<String>,
    /// Client of the model.
    pub model: Arc<dyn Model>,
    /// Id of the model at its provider.
    pub model_name: String,
    /// The tools, in the order in which the model sees them.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that other agents of the process have and this one does not, each with the reason. A
    /// call of such a tool returns the reason.
    pub withheld: Vec<RemovedTool>,
    /// Current permission mode and rules; may change while a turn runs.
    pub rights: Arc<Rights>,
    /// Decides about calls that rules and mode do not decide.
    pub gate: Arc<dyn PermissionGate>,
    /// Receives the agent's events.
    pub events: Arc<dyn EventSink>,
    /// Source of urgent mail.
    pub interjections: Arc<dyn Interjections>,
    /// The user's hooks.
    pub hooks: AgentHooks,
    /// Skills that a person may start with `/NAME`.
    pub skills: Arc<[Skill]>,
    /// Fork point of the agent; each agent has a new one.
    pub forks: ForkPoint,
    /// Limits of the session.
    pub limits: SessionLimits,
    /// The user's home directory, for permission rules that begin with `~/`.
    pub home: Option<PathBuf>,
    /// Sources of instruction files; `None` for an agent without instructions.
    pub instructions: Option<Arc<InstructionSources>>,
    /// The agent's environment, whose changes are announced; `None` for an agent without
    /// announcements.
    pub environment: Option<Arc<AgentEnvironment>>,
    /// State of the agent's team, attached after a compaction and part of the environment.
    pub brief: Option<Arc<dyn Brief>>,
    /// Context of each tool call; `cancel` and `tool_use_id` are filled in per call.
    pub tool_context: ToolContext,
}

impl AgentParts {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }
}
