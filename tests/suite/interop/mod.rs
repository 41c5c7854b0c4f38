//! Other agent programs in a team.

mod acp;
mod external;
mod mcp;
mod programs;
