//! The Bash tool.

mod capture;
mod run;
mod tool;

pub use tool::Bash;
