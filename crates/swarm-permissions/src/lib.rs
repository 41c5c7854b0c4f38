//! Permission decisions without I/O: an agent's definition, tools, model and mode, and which calls
//! rules and mode allow, with the reason.

mod agent_config;
mod anchors;
mod command;
mod decide;
mod decision;
mod definition_file;
mod files;
mod git_guard;
mod handoff;
mod instructions;
mod mode_choice;
mod model_choice;
mod nearest;
mod pool;
mod question;
mod rule;
mod rule_set;
mod settings;
mod shell;
mod skill_file;
mod split;
mod suggest;

pub use agent_config::{
    AgentCatalog, AgentConfig, AgentDefinition, AgentLimits, AgentSource, CompactionSettings,
    HookAction, HookCommand, HookEvent, HookGroup, HookSettings, Isolation, McpBounds, McpServer,
    McpServerConfig, McpSettings, McpToolSpec, McpUse, MemoryScope, ModelNames, RequestSettings,
    ToolAllowance, denied_type, hidden_type, missing_servers, same_agent_type,
    servers_without_tools,
};
pub use anchors::Anchors;
pub use decide::decide;
pub use decision::{
    Decision, Destination, PermissionOutcome, PermissionRequest, RuleValue, Suggestion,
};
pub use definition_file::{
    DefinitionProblem, ReadDefinition, read_file as read_definition_file,
    read_json as read_definitions_json,
};
pub use files::ReadFilter;
pub use git_guard::{GitFacts, GitLine, GitPlace, git_calls, git_command, git_refusal};
pub use handoff::{HandoffRisk, HandoffScan, scan_handoff};
pub use instructions::{InstructionSettings, RuleFile, imports};
pub use mode_choice::{ChosenMode, ModeSource, choose_mode};
pub use model_choice::{ChosenModel, ModelCandidates, ModelSource, choose_model};
pub use nearest::nearest;
pub use pool::{
    AgentKind, FilterLayer, MEMBER_TOOLS, PoolRequest, RemovedTool, ToolCeiling, ToolPool,
    known_tools, mcp_name, tool_pool,
};
pub use question::{FileFacts, PlainFiles, Question, RunsLater};
pub use rule::{Behavior, Rule, RuleError};
pub use rule_set::{CallLimit, RuleSet, SourcedRule};
pub use settings::PermissionSettings;
pub use shell::{QuietGit, bash_is_read_only, git_without_programs};
pub use skill_file::SkillFile;
