//! The tools offered to an agent: filter layers, each with one table, and the restrictions of
//! parent agents.

mod calls;
mod ceiling;
mod kind;
mod names;
mod select;
mod selector;
mod tables;

pub use ceiling::ToolCeiling;
pub use kind::{AgentKind, FilterLayer};
pub use names::mcp_name;
pub(crate) use names::{is_other_name, names_mcp, names_of};
pub use select::{PoolRequest, RemovedTool, ToolPool, tool_pool};
pub(crate) use selector::{ToolSelector, split};
pub use tables::{MEMBER_TOOLS, known_tools};
