//! What people configure: settings and where they come from, Claude Code's settings, trust, definitions, skills, MCP servers.

mod agents;
mod claude_settings;
mod environment;
mod error;
mod expand;
mod hook_directories;
mod instructions;
mod mcp;
mod models;
mod settings;
mod skills;
mod trust;

pub use agents::{EnabledPlugins, FoundAgents, Looking, gather, unused_parts};
pub use claude_settings::{ClaudeSettings, FoundHooks, refuse_coordinator};
pub use environment::Environment;
pub use error::ConfigError;
pub use hook_directories::{HookDirectories, worktree_records};
pub use instructions::instruction_settings;
pub use mcp::{FoundServers, ServerSources, mcp_bounds};
pub use models::{fallback_model, model_names, permitted_model, resolve_model};
pub use settings::{
    AnswerInPlace, Given, Layer, ListedSetting, Origin, Places, SettingOutcome, Settings,
    ValuePlace, repository_directories,
};
pub use skills::{FoundSkills, find_skills};
pub use trust::{
    Own, OwnThings, TrustFile, Trusted, is_trusted, own_things, project_directory, project_top,
    top_of,
};
