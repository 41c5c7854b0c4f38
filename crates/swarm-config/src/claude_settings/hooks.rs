//! The `hooks` of settings files, by source.

use serde_json::Value;
use swarm_permissions::HookSettings;

use super::file::File;
use crate::plugins::ActivePlugin;
use crate::settings::Layer;

/// The hooks of all settings files, by source.
#[derive(Debug, Default)]
pub struct FoundHooks {
    managed: HookSettings,
    user: HookSettings,
    project: HookSettings,
    /// Managed policy allows only managed hooks.
    managed_only: bool,
    /// User settings or managed policy disable all hooks but managed ones.
    disabled: bool,
}

impl FoundHooks {
    /// Adds the hooks of one file and returns its problems.
    pub(super) fn take(&mut self, file: &File) -> Vec<String> {
        let name = file.name();
        let is_set = |field: &str| file.document[field] == Value::Bool(true);
        let (hooks, remarks) = HookSettings::read(&file.document["hooks"], &name);
        match file.layer {
            Layer::Project => self.project.extend(hooks),
            Layer::Managed => {
                self.managed_only |= is_set("allowManagedHooksOnly");
                self.disabled |= is_set("disableAllHooks");
                self.managed.extend(hooks);
            }
            _ => {
                self.disabled |= is_set("disableAllHooks");
                self.user.extend(hooks);
            }
        }
        let remarks = remarks.into_iter();
        remarks.map(|what| format!("{name}: {what}")).collect()
    }

    /// Adds the hooks of a plugin, to those of the source that enables it. Returns its problems.
    pub(super) fn take_plugin(&mut self, plugin: &ActivePlugin) -> Vec<String> {
        let (hooks, problems) = plugin.hooks();
        match plugin.layer {
            Layer::Project => self.project.extend(hooks),
            Layer::Managed => self.managed.extend(hooks),
            _ => self.user.extend(hooks),
        }
        problems
    }

    /// Returns whether a repository's hooks are disabled only because it is not trusted.
    pub fn waits_for_trust(&self) -> bool {
        !self.disabled && !self.managed_only && !self.project.is_empty()
    }

    /// Returns the effective hooks: managed ones first, then the user's, then the repository's if
    /// it is trusted. Its hooks are marked for the sandbox. A hook without a timeout gets `limit`
    /// seconds.
    pub fn effective(&self, trusted: bool, limit: u64) -> HookSettings {
        let mut hooks = self.managed.clone();
        if !self.disabled && !self.managed_only {
            hooks.extend(self.user.clone());
            if trusted {
                hooks.extend(self.project.clone().sandboxed());
            }
        }
        hooks.with_time_limit(limit)
    }
}
