//! Which plugins are on: `enabledPlugins` of the settings files.

use std::collections::BTreeMap;

use crate::settings::Layer;

/// What the settings say of plugins, by `PLUGIN@MARKETPLACE`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct EnabledPlugins {
    named: BTreeMap<String, bool>,
    /// Whether the user or the machine names any. Otherwise every installed plugin is on that nobody turns off.
    user_chooses: bool,
}

impl EnabledPlugins {
    /// Adds what a file says. Stronger files come later.
    pub(super) fn add(&mut self, plugin: String, on: bool, layer: Layer) {
        if layer != Layer::Project {
            self.user_chooses = true;
            self.named.insert(plugin, on);
        } else if on {
            // A repository turns on none that the user has turned off.
            self.named.entry(plugin).or_insert(true);
        } else {
            self.named.insert(plugin, false);
        }
    }

    /// Whether a plugin is on.
    pub(crate) fn is_on(&self, plugin: &str) -> bool {
        self.named
            .get(plugin)
            .copied()
            .unwrap_or(!self.user_chooses)
    }

    /// What the user names.
    #[cfg(test)]
    pub(crate) fn of_user(named: &[(&str, bool)]) -> Self {
        let mut plugins = Self::default();
        for (plugin, on) in named {
            plugins.add((*plugin).to_owned(), *on, Layer::User);
        }
        plugins
    }
}
