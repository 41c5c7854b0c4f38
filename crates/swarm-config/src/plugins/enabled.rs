//! The plugins that settings enable or disable.

use std::collections::BTreeMap;
use std::path::Path;

use crate::settings::{Layer, NearestValue};

/// The plugins that settings enable or disable, by `PLUGIN@MARKETPLACE`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EnabledPlugins {
    /// The decisions of the user and of managed policy, each with the stronger source.
    own: BTreeMap<String, (bool, Layer)>,
    /// The decisions of the repository. They apply only to plugins that are not in `own`: the hooks
    /// of a plugin may be safeguards against the repository.
    repository: BTreeMap<String, NearestValue<bool>>,
}

impl EnabledPlugins {
    /// Adds an entry of a file in `directory`. The user's file comes before managed policy and both
    /// before a repository's files, nearest first. Returns `false` if the repository would disable a
    /// plugin that the others enable.
    pub fn add(&mut self, plugin: String, on: bool, layer: Layer, directory: &Path) -> bool {
        if layer != Layer::Project {
            self.own.insert(plugin, (on, layer));
            return true;
        }
        let is_kept = matches!(self.own.get(&plugin), Some((true, _)));
        let decision = self.repository.entry(plugin).or_default();
        decision.add(directory, on);
        on || !is_kept
    }

    /// Returns whether a plugin is enabled, so that its agents are used. If neither user settings
    /// nor managed policy name any plugin, all installed ones are, unless the repository disables
    /// them.
    pub fn is_on(&self, plugin: &str) -> bool {
        let decision = self.decision(plugin);
        decision.map_or(self.own.is_empty(), |(on, _)| on)
    }

    /// Returns where a plugin is enabled by name, so that its programs may run.
    pub(crate) fn enabled_by(&self, plugin: &str) -> Option<Layer> {
        let (on, layer) = self.decision(plugin)?;
        on.then_some(layer)
    }

    /// Returns the plugins that only the repository enables.
    pub(crate) fn of_repository(&self) -> impl Iterator<Item = &str> {
        let named = self.repository.keys().map(String::as_str);
        named.filter(move |plugin| self.enabled_by(plugin) == Some(Layer::Project))
    }

    /// Returns the decision about a plugin, and where it was made.
    fn decision(&self, plugin: &str) -> Option<(bool, Layer)> {
        let of_repository = || {
            let on = self.repository.get(plugin)?.get()?;
            Some((*on, Layer::Project))
        };
        self.own.get(plugin).copied().or_else(of_repository)
    }

    /// Creates the user's settings.
    #[cfg(test)]
    pub fn of_user(named: &[(&str, bool)]) -> Self {
        let mut plugins = Self::default();
        for (plugin, on) in named {
            plugins.add((*plugin).to_owned(), *on, Layer::User, Path::new("root"));
        }
        plugins
    }
}
