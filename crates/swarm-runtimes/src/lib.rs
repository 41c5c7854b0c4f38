//! Other agent programs as members: clients of the Agent Client Protocol and of Claude Code's
//! stream-json.
//!
//! Each is an [`swarm_agent::AgentRuntime`]: the member loop, the transcript, permissions and
//! shutdown are those of every member.

mod accounts;
mod acp;
mod claude;
mod cut_turn;
mod no_model;
mod program;
mod reply;
mod sandbox;
mod settings_copy;
mod spec;
mod state;
mod team_tools;

pub use accounts::ProgramAccounts;
pub use acp::AcpRuntime;
pub use claude::ClaudeRuntime;
pub use no_model::NoModel;
pub(crate) use program::asking_mode;
pub use settings_copy::SettingsCopy;
pub use spec::ProgramSpec;
pub use state::StateDirectory;
pub use team_tools::{TEAM_TOOLS_RELAY, TEAM_TOOLS_VARIABLE, relay_team_tools};
