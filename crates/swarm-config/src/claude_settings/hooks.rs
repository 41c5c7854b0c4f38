//! The `hooks` of settings files: who may have some run.

use serde_json::Value;
use swarm_permissions::HookSettings;

use super::file::File;
use crate::settings::Layer;

/// The hooks of all files, by who wrote them.
#[derive(Debug, Default)]
pub struct FoundHooks {
    managed: HookSettings,
    user: HookSettings,
    project: HookSettings,
    /// The machine's policy runs none but its own.
    managed_only: bool,
    /// The user, or the machine's policy, runs none but the policy's.
    disabled: bool,
}

impl FoundHooks {
    /// Takes those of one file, and tells what is wrong with them.
    pub(super) fn take(&mut self, file: &File) -> Vec<String> {
        let name = file.name();
        let says = |field: &str| file.document[field] == Value::Bool(true);
        let (hooks, remarks) = HookSettings::read(&file.document["hooks"], &name);
        match file.layer {
            Layer::Project => self.project.extend(hooks),
            Layer::Managed => {
                self.managed_only |= says("allowManagedHooksOnly");
                self.disabled |= says("disableAllHooks");
                self.managed.extend(hooks);
            }
            _ => {
                self.disabled |= says("disableAllHooks");
                self.user.extend(hooks);
            }
        }
        let remarks = remarks.into_iter();
        remarks.map(|what| format!("{name}: {what}")).collect()
    }

    /// Whether a repository has hooks that would run if it were trusted.
    pub fn waits_for_trust(&self) -> bool {
        !self.disabled && !self.managed_only && !self.project.is_empty()
    }

    /// What runs: the policy's first, then the user's, then the repository's where it is trusted. A command that says
    /// nothing of its time gets `limit` seconds.
    pub fn in_force(&self, trusted: bool, limit: u64) -> HookSettings {
        let mut hooks = self.managed.clone();
        if !self.disabled && !self.managed_only {
            hooks.extend(self.user.clone());
            if trusted {
                hooks.extend(self.project.clone());
            }
        }
        hooks.with_time_limit(limit)
    }
}
