//! Other agent programs as members: clients of the Agent Client Protocol and of Claude Code's
//! stream-json.
//!
//! Each is an [`swarm_agent::AgentRuntime`]: the member loop, the transcript, permissions and
//! shutdown are those of every member.

mod acp;
mod claude;
mod cut_turn;
mod no_model;
mod program;
mod reply;

pub use acp::AcpRuntime;
pub use claude::ClaudeRuntime;
pub use no_model::NoModel;
pub use program::ProgramSpec;
pub(crate) use program::asking_mode;
