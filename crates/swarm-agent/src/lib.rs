//! The turn loop of an agent: conversation, model calls, permissions, tools, and the durable
//! transcript.
//!
//! A [`Session`] is a conversation stored in a [`TranscriptFile`]. Input is delivered first and
//! counts once it is on disk; then a turn runs until the model ends it. Lead, teammates and
//! sub-agents use the same session with different [`AgentParts`]. [`SubAgents`] is the registry of
//! sub-agents.

mod agent_tool;
mod compaction;
mod context_files;
mod coordinator;
mod environment;
mod error;
mod events;
mod fork;
mod git_ahead;
mod history;
mod hook_clients;
mod injected;
mod instructions;
mod limits;
mod loaded_definition;
mod media_block;
mod or_never;
mod own_tools;
mod parts;
mod program_docs;
mod rights;
mod scratchpad;
mod session;
mod spawner;
mod steer;
mod subagent;
mod tool_search;
mod totals;
mod transcript;
mod turn;
mod worktree;

pub(crate) use agent_tool::AgentTool;
pub use coordinator::coordinated;
pub use environment::{AgentEnvironment, Brief, EnvironmentFact, HostFacts, PromptEnvironment};
pub use error::AgentError;
pub(crate) use error::Result;
pub use events::{EventSink, NoEvents, PermissionGate, Withdrawal};
pub use fork::ForkPoint;
pub use hook_clients::{HookClients, HookModels};
pub use injected::{Delivery, Injected, Interjections};
pub use instructions::{
    InstructionFile, InstructionKind, InstructionSources, LoadedInstructions, MANAGED_INSTRUCTIONS,
};
pub use limits::SessionLimits;
pub use loaded_definition::{LoadedDefinition, SkillError};
pub use or_never::or_never;
pub use own_tools::own_tools;
pub use parts::AgentParts;
pub use program_docs::{ProgramDocs, ProgramPage};
pub use rights::{Rights, without_unreadable};
pub use scratchpad::{scratchpad_rules, scratchpad_section, share_scratchpad};
pub use session::Session;
pub use spawner::{
    MemberRequest, NoTeammates, SpawnRequest, Spawned, TeammateStatus, Teammates,
    only_the_lead_spawns,
};
pub use subagent::{
    ModelFactory, NoOtherModels, ReadyModel, SubAgentServices, SubAgentStatus, SubAgents,
};
pub use totals::Totals;
pub use transcript::{
    BrokenTranscriptLine, LeadSession, RewindPoint, RewindPoints, TranscriptAuthor, TranscriptFile,
    TranscriptReplay, all_lead_sessions, find_transcript, is_coordinator_session, lead_sessions,
    transcript_path,
};
pub use turn::{
    AgentRuntime, ForeignCall, ModelLoop, Submitted, Turn, TurnOutcome, TurnSignals, TurnStop,
    Withheld,
};
pub use worktree::{WorktreeIsolator, worktree_tools};
