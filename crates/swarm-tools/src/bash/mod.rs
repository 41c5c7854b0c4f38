//! The Bash tool.

mod background;
mod capture;
mod check;
mod denial;
mod launch;
mod output;
mod run;
mod running;
mod shell;
mod tool;

pub use background::{BackgroundCommand, BackgroundCommands, CommandState};
pub use check::{CheckedCommand, run_check};
pub use launch::ProgramLaunch;
pub use shell::AgentShell;
pub use tool::Bash;
