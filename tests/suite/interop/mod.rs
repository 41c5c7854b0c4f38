//! Other agent programs in a team.

mod acp;
mod claude;
mod editor;
mod external;
mod mcp;
mod programs;
mod sandboxed;
mod servers;
