//! The Glob and Grep tools, based on ripgrep's libraries.

mod glob;
mod grep;
mod grep_input;
mod sink;
mod walk;

pub use glob::Glob;
pub use grep::Grep;
