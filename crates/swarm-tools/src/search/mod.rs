//! Glob and Grep, on ripgrep's own parts.

mod found;
mod glob;
mod grep;
mod grep_input;
mod sink;
mod walk;

pub use glob::Glob;
pub use grep::Grep;
