//! The Bash tool.

mod capture;
mod run;
mod surround;
mod tool;

pub use tool::Bash;
