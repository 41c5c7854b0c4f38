//! Permission rules: their grammar and what each form matches.

mod behavior;
mod command_pattern;
mod grammar;
mod path_pattern;
mod wildcard;

pub use behavior::Behavior;
pub(crate) use command_pattern::CommandPattern;
pub(crate) use grammar::{Content, tool_and_content};
pub use grammar::{Rule, RuleError};
pub(crate) use path_pattern::{Bases, PathPattern};
