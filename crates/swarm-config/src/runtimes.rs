//! The presets of agent programs in `config/runtimes.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::ConfigError;

const PRESETS: &str = include_str!("../../../config/runtimes.toml");

/// A known agent program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimePreset {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Command that installs the program.
    pub install: String,
    /// Variables that it gets besides those of a shell.
    #[serde(default)]
    pub env: Vec<String>,
}

/// Returns the presets by name.
///
/// # Errors
/// [`ConfigError::NotToml`] if the built-in file is invalid.
pub fn runtime_presets() -> Result<BTreeMap<String, RuntimePreset>, ConfigError> {
    toml::from_str(PRESETS).map_err(|error| ConfigError::NotToml {
        place: "config/runtimes.toml".to_owned(),
        what: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_a_program_and_a_way_to_install_it() {
        let presets = runtime_presets().unwrap();
        assert_eq!(presets.len(), 5);
        for (name, preset) in presets {
            assert!(!preset.command.is_empty(), "{name}");
            assert!(preset.install.starts_with("npm install -g "), "{name}");
        }
    }
}
