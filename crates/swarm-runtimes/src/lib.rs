//! Other agent programs as members: clients of the Agent Client Protocol and of Claude Code's
//! stream-json.
//!
//! Each is an [`swarm_agent::AgentRuntime`]: the member loop, the transcript, permissions and
//! shutdown are those of every member.

mod accounts;
mod acp;
mod approvals;
mod claude;
mod cut_turn;
mod handed_server;
mod no_model;
mod open_requests;
mod program;
mod relay;
mod reply;
mod sandbox;
mod settings_copy;
mod spec;
mod state;

pub use accounts::ProgramAccounts;
pub use acp::AcpRuntime;
pub use claude::ClaudeRuntime;
pub use no_model::NoModel;
pub(crate) use program::asking_mode;
pub use relay::{MCP_RELAY, MCP_RELAY_VARIABLE, relay_mcp_server};
pub use settings_copy::SettingsCopy;
pub use spec::ProgramSpec;
pub use state::StateDirectory;
