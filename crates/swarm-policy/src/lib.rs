//! Decisions without I/O: which tool calls an agent may make, by rules and mode, and why.

mod decide;
mod decision;
mod rule;
mod rule_set;
mod shell;
mod suggestion;

pub use decide::{Question, decide};
pub use decision::Decision;
pub use rule::{Rule, RuleError};
pub use rule_set::{RuleSet, SourcedRule};
pub use shell::bash_is_read_only;
pub use suggestion::{Behavior, Destination, RuleValue, Suggestion};
