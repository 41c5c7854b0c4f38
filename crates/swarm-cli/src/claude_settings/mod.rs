//! Claude Code's `settings.json` files: permission rules, the default mode, variables for shell commands, hooks.

mod file;
mod hooks;
mod load;
mod plugins;
mod rules;
mod unsupported;
mod variables;

pub(crate) use hooks::FoundHooks;
pub(crate) use load::ClaudeSettings;
pub(crate) use plugins::EnabledPlugins;
pub(crate) use unsupported::refuse_coordinator;

#[cfg(test)]
mod tests;
