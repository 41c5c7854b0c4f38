//! Decisions without I/O: which tool calls an agent may make, by rules and mode, and why.

mod command;
mod decide;
mod decision;
mod equipment;
mod files;
mod question;
mod rule;
mod rule_set;
mod settings;
mod shell;
mod suggestion;

pub use decide::decide;
pub use decision::Decision;
pub use equipment::{
    AgentCatalog, AgentDefinition, AgentSource, Equipment, HookCommand, HookEvent, HookGroup,
    HookSettings, Isolation, McpServer, McpServerConfig, McpSettings, McpUse, MemoryScope,
    ToolAllowance,
};
pub use files::ReadFilter;
pub use question::Question;
pub use rule::{Rule, RuleError};
pub use rule_set::{RuleSet, SourcedRule};
pub use settings::PermissionSettings;
pub use shell::bash_is_read_only;
pub use suggestion::{Behavior, Destination, RuleValue, Suggestion};
