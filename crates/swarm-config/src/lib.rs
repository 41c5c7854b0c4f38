//! Configuration: settings and their sources, Claude Code's settings, trust, agent definitions,
//! skills and MCP servers.

mod agents;
mod claude_settings;
mod environment;
mod error;
mod expand;
mod hook_directories;
mod instructions;
mod mcp;
mod models;
mod plugins;
mod runtimes;
mod settings;
mod skills;
mod team_template;
mod trust;

pub use agents::{AgentSearch, FoundAgents, find_agents};
pub use claude_settings::{ClaudeSettings, FoundHooks, wants_coordinator};
pub use environment::Environment;
pub use error::ConfigError;
pub use hook_directories::{HookDirectories, worktree_records};
pub use instructions::instruction_settings;
pub use mcp::{FoundServers, ServerSources, mcp_bounds};
pub use models::{default_model, fallback_model, model_names, permitted_model, resolve_model};
pub use plugins::{ActivePlugin, EnabledPlugins, PluginParts, PluginUse, plugin_parts};
pub use runtimes::{RuntimePreset, RuntimePresets, RuntimeState};
pub use settings::{
    Layer, ListedSetting, NewSetting, Origin, SettingOutcome, SettingValue, Settings,
    SettingsFiles, ValueLocation, repository_directories,
};
pub use skills::{FoundSkills, find_skills};
pub use team_template::{
    TEAM_TEMPLATES, TEMPLATE_KEY, TeamTemplate, TemplateError, TemplateMember, TemplateTask,
    TemplateWorktree,
};
pub use trust::{
    Project, RepositoryItem, RepositoryItems, TrustFile, Trusted, is_trusted, project_directory,
    project_top, repository_items, top_of,
};
