//! The plugins that settings enable or disable.

use std::collections::BTreeMap;

use crate::settings::Layer;

/// The plugins that settings enable or disable, by `PLUGIN@MARKETPLACE`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EnabledPlugins {
    /// The decision about each plugin, and where it was made.
    named: BTreeMap<String, (bool, Layer)>,
    /// Whether user or machine settings name any plugin. Otherwise the agents of every installed
    /// plugin are used unless it is disabled.
    user_chooses: bool,
}

impl EnabledPlugins {
    /// Adds an entry of a file. A repository cannot enable a plugin that the user disabled, nor
    /// change what managed policy says.
    pub fn add(&mut self, plugin: String, on: bool, layer: Layer) {
        let known = self.named.get(&plugin).map(|(_, layer)| *layer);
        let applies = match (layer, known) {
            (Layer::Project, Some(Layer::Managed)) => false,
            (Layer::Project, Some(_)) => !on,
            _ => true,
        };
        self.user_chooses |= layer != Layer::Project;
        if applies {
            self.named.insert(plugin, (on, layer));
        }
    }

    /// Returns whether a plugin is enabled, so that its agents are used.
    pub fn is_on(&self, plugin: &str) -> bool {
        let named = self.named.get(plugin);
        named.map_or(!self.user_chooses, |(on, _)| *on)
    }

    /// Returns where a plugin is enabled by name, so that its programs may run.
    pub(super) fn enabled_by(&self, plugin: &str) -> Option<Layer> {
        let named = self.named.get(plugin);
        named.and_then(|(on, layer)| on.then_some(*layer))
    }

    /// Returns whether user or machine settings name any plugin.
    pub(super) fn user_chooses(&self) -> bool {
        self.user_chooses
    }

    /// Creates the user's settings.
    #[cfg(test)]
    pub fn of_user(named: &[(&str, bool)]) -> Self {
        let mut plugins = Self::default();
        for (plugin, on) in named {
            plugins.add((*plugin).to_owned(), *on, Layer::User);
        }
        plugins
    }
}
