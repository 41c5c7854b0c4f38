//! Plugins of Claude Code below the config directory.

mod active;
mod enabled;
mod installed;
mod parts;

pub use active::ActivePlugin;
pub(crate) use active::active_plugins;
pub use enabled::EnabledPlugins;
pub(crate) use installed::plugins;
pub use parts::{PluginParts, PluginUse, plugin_parts};

#[cfg(test)]
mod tests;
