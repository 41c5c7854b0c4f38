//! Loading of all settings layers.

use super::file::{parse, read_file};
use super::given::{Layer, SettingValue, ValueLocation};
use super::keys::Settings;
use super::places::SettingsFiles;
use super::sources::Sources;
use super::variables;
use crate::environment::Environment;
use crate::error::ConfigError;

const BUILT_IN: &str = include_str!("../../../../config/default.toml");
const MODELS: &str = include_str!("../../../../config/models.toml");

impl Settings {
    /// Reads all layers.
    pub fn load(places: &SettingsFiles, env: &Environment) -> Result<Self, ConfigError> {
        let mut given = built_in()?;
        given.extend(read_file(&places.system, Layer::System)?);
        given.extend(read_file(&places.user, Layer::User)?);
        if let Some(project) = &places.project {
            given.extend(read_file(project, Layer::Project)?);
        }
        given.extend(variables::read(env.variables())?);
        given.extend(read_file(&places.managed, Layer::Managed)?);
        Self::of(Sources::new(given))
    }

    /// Returns the built-in settings.
    pub fn built_in() -> Result<Self, ConfigError> {
        Self::of(Sources::new(built_in()?))
    }
}

fn built_in() -> Result<Vec<SettingValue>, ConfigError> {
    let mut given = parse(MODELS, Layer::BuiltIn, |_| {
        ValueLocation::Program("config/models.toml")
    })?;
    given.extend(parse(BUILT_IN, Layer::BuiltIn, |_| {
        ValueLocation::Program("config/default.toml")
    })?);
    Ok(given)
}
