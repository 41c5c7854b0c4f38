//! What an agent is made of.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_hooks::AgentHooks;
use swarm_model::Model;
use swarm_permissions::RemovedTool;
use swarm_protocol::Skill;
use swarm_tools::{Tool, ToolContext};

use crate::{
    AgentEnvironment, AgentRuntime, Brief, EventSink, ForkPoint, InstructionSources, Interjections,
    PermissionGate, Rights, SessionLimits,
};

/// Everything a session needs besides its transcript.
#[derive(Debug, Clone)]
pub struct AgentParts {
    /// Who asks the model; a scripted model matches on it.
    pub name: String,
    /// The system prompt in blocks, facts about the surroundings included. It must not change while the conversation
    /// lives, or the prompt cache is lost.
    pub system: Vec<String>,
    /// What answers in the conversation.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The model's client.
    pub model: Arc<dyn Model>,
    /// The model's id at its provider.
    pub model_name: String,
    /// The tools on offer, in the order in which the model is told of them.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that agents of the process have and this one has not, each with the reason: a call of one is told that.
    pub withheld: Vec<RemovedTool>,
    /// Mode and rules in force; may be changed from outside while a turn runs.
    pub rights: Arc<Rights>,
    /// Who answers where rules and mode do not.
    pub gate: Arc<dyn PermissionGate>,
    /// Who watches.
    pub events: Arc<dyn EventSink>,
    /// Where urgent mail comes from.
    pub interjections: Arc<dyn Interjections>,
    /// The user's hooks.
    pub hooks: AgentHooks,
    /// Skills that a person may start by `/NAME`.
    pub skills: Arc<[Skill]>,
    /// Where forks of the agent begin; fresh for each agent.
    pub forks: ForkPoint,
    /// Bounds.
    pub limits: SessionLimits,
    /// The user's home directory, for permission rules that begin with `~/`.
    pub home: Option<PathBuf>,
    /// Where instruction files come from; `None` for an agent that gets none.
    pub instructions: Option<Arc<InstructionSources>>,
    /// Its environment, whose changes it is told; `None` for an agent that is not told.
    pub environment: Option<Arc<AgentEnvironment>>,
    /// Its team: what it is told anew once its conversation was compacted, and what belongs to its environment.
    pub brief: Option<Arc<dyn Brief>>,
    /// What each call gets; `cancel` and `tool_use_id` are filled in per call.
    pub tool_context: ToolContext,
}
