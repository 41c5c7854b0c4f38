//! Claude Code's `settings.json` files: permission rules, the default mode, variables and hooks.

mod file;
mod hooks;
mod load;
mod requests;
mod unsupported;

pub use hooks::FoundHooks;
pub use load::ClaudeSettings;
pub use unsupported::wants_coordinator;

#[cfg(test)]
mod program_tests;
#[cfg(test)]
mod tests;
