//! The values of settings with their sources.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use swarm_protocol::named_enum;

named_enum! {
    /// The source of a value, weakest first. Managed policy also limits all other sources.
    #[derive(PartialOrd, Ord)]
    pub enum Layer {
        /// `config/default.toml` and `config/models.toml`, which are compiled in.
        BuiltIn = "built-in",
        /// The system-wide file.
        System = "system",
        /// The user's files in the config directory.
        User = "user",
        /// The repository's files.
        Project = "project",
        /// An environment variable.
        Environment = "environment",
        /// Managed policy.
        Managed = "managed",
    }
}

/// The location of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueLocation {
    /// In a compiled-in file.
    Program(&'static str),
    /// In a file, with the line if known.
    File(PathBuf, Option<usize>),
    /// In an environment variable.
    Variable(String),
}

impl fmt::Display for ValueLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => f.write_str(name),
            Self::File(path, Some(line)) => write!(f, "{}:{line}", path.display()),
            Self::File(path, None) => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
        }
    }
}

impl Serialize for ValueLocation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value with its source.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingValue {
    /// The name of the setting.
    pub key: &'static str,
    /// The layer of the source.
    pub layer: Layer,
    /// The location in the source.
    pub place: ValueLocation,
    /// The value, valid for the setting.
    pub value: Value,
}

/// All given values by setting, those of a setting weakest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources(Vec<SettingValue>);

impl Sources {
    pub(super) fn new(mut given: Vec<SettingValue>) -> Self {
        given.sort_by_key(|given| (given.key, given.layer));
        Self(given)
    }

    /// Adds values that are weaker than the existing ones of the same layer.
    pub(super) fn with(self, further: Vec<SettingValue>) -> Self {
        Self::new(further.into_iter().chain(self.0).collect())
    }

    /// Returns the values given to a setting, weakest first.
    pub(super) fn of(&self, name: &str) -> impl DoubleEndedIterator<Item = &SettingValue> {
        let from = self.0.partition_point(|given| given.key < name);
        let to = self.0.partition_point(|given| given.key <= name);
        self.0[from..to].iter()
    }
}
