//! A value that somebody gave to a setting.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

/// Who gave a value, weakest first. Managed policy stands apart: it limits what all others say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// `config/default.toml` and `config/models.toml`, which are part of the program.
    BuiltIn,
    /// The machine's file.
    System,
    /// The user's files in the config directory.
    User,
    /// The repository's files.
    Project,
    /// A variable.
    Environment,
    /// The machine's policy.
    Managed,
}

impl Layer {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
            Self::Managed => "managed",
        }
    }
}

/// Where exactly a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValuePlace {
    /// In a part of the program.
    Program(&'static str),
    /// In a file, at a line if that is known.
    File(PathBuf, Option<usize>),
    /// In a variable.
    Variable(String),
}

impl fmt::Display for ValuePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => f.write_str(name),
            Self::File(path, Some(line)) => write!(f, "{}:{line}", path.display()),
            Self::File(path, None) => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
        }
    }
}

impl Serialize for ValuePlace {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value, who gave it, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Name of the setting.
    pub key: &'static str,
    /// Who gave it.
    pub layer: Layer,
    /// Where it stands.
    pub place: ValuePlace,
    /// The value, which the setting accepts.
    pub value: Value,
}
