//! Configuration errors.

use std::io;
use std::path::PathBuf;

use swarm_os::OsError;
use swarm_protocol::ErrorKind;

/// A configuration that is unreadable, invalid or not permitted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The config directory is unknown.
    #[error("neither CLAUDE_CONFIG_DIR nor HOME is set")]
    NoRoot,
    /// A settings file is not text.
    #[error("{} is not UTF-8 text", .0.display())]
    NotUtf8(PathBuf),
    /// A settings file cannot be read.
    #[error("cannot read the settings file {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// A settings file is not valid TOML.
    #[error("{place}: {what}")]
    NotToml {
        /// File and line.
        place: String,
        /// The parser's message.
        what: String,
    },
    /// Unknown settings or invalid values, each with file and line.
    #[error("{}", .0.join("; "))]
    Settings(Vec<String>),
    /// There is no such setting.
    #[error("unknown setting `{}`{}", .name.escape_debug(), .nearest.map_or_else(String::new, |it| format!("; did you mean `{it}`?")))]
    UnknownSetting {
        /// The name.
        name: String,
        /// The setting with the most similar name.
        nearest: Option<&'static str>,
    },
    /// A text is not a value of a setting.
    #[error("`{name}` must be {expected}, not {value:?}")]
    SettingText {
        /// The setting.
        name: &'static str,
        /// The allowed values.
        expected: String,
        /// The text.
        value: String,
    },
    /// The user's settings file cannot be written.
    #[error("cannot write the settings file {}: {source}", .path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: OsError,
    },
    /// An environment variable has an invalid value for its setting.
    #[error("${name} must be {expected}, not {value:?}")]
    Variable {
        /// The variable.
        name: String,
        /// The allowed values.
        expected: String,
        /// Its value.
        value: String,
        /// The setting.
        key: &'static str,
    },
    /// An environment variable is probably misspelled.
    #[error("unknown variable ${name}; did you mean ${known}?")]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The similar known variable.
        known: String,
    },
    /// A value violates managed policy.
    #[error("managed policy limits `{name}` to {allowed}, not {value} ({place})")]
    Policy {
        /// The setting.
        name: String,
        /// The allowed value.
        allowed: String,
        /// The requested value.
        value: String,
        /// The policy's file and line.
        place: String,
    },
    /// A setting has no built-in value, which is a bug.
    #[error("no built-in value for the setting `{0}`")]
    Lacking(String),
    /// A `settings.json` is not valid JSON.
    #[error("invalid JSON in {}: {source}", .path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// A `settings.json` is not a JSON object.
    #[error("{} is not a JSON object", .0.display())]
    NotAnObject(PathBuf),
    /// An invalid permission rule. The message names its file.
    #[error("{0}")]
    Rule(String),
    /// An invalid variable in `env`.
    #[error("{}: {what}", .path.display())]
    Env {
        /// The file.
        path: PathBuf,
        /// The problem.
        what: String,
    },
    /// The errors of several files.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<ConfigError>),
    /// The list of trusted repositories cannot be read or changed.
    #[error("cannot access the list of trusted repositories: {source}")]
    TrustList {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: OsError,
    },
    /// The list of trusted repositories is corrupt.
    #[error("corrupt file {}: {source}", .path.display())]
    TrustDamaged {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// `--agents` is invalid.
    #[error("{0}")]
    AgentsFlag(String),
    /// An invalid model name.
    #[error("{0}")]
    Model(String),
}

impl ConfigError {
    /// Combines errors; `None` for none. Kind and hint are those of the first.
    pub(crate) fn all(mut errors: Vec<Self>) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Self::Several(errors)),
        }
    }

    /// Returns the kind, which determines the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRoot
            | Self::Unreadable { .. }
            | Self::NotWritten { .. }
            | Self::TrustList { .. } => ErrorKind::Environment,
            Self::UnknownSetting { .. } => ErrorKind::NotFound,
            Self::Policy { .. } => ErrorKind::Refused,
            Self::Lacking(_) => ErrorKind::Internal,
            Self::TrustDamaged { .. } => ErrorKind::Damaged,
            Self::Several(errors) => errors.first().map_or(ErrorKind::Usage, Self::kind),
            _ => ErrorKind::Usage,
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoRoot => "set CLAUDE_CONFIG_DIR to the directory for teams and tasks",
            Self::NotUtf8(_) => "save it as UTF-8",
            Self::Unreadable { .. } => "make the file readable or remove it",
            Self::NotToml { .. } => "fix the TOML syntax",
            Self::UnknownSetting { .. } => "run `swarm config list` to see all settings",
            Self::SettingText { .. } => "the file is unchanged",
            Self::NotWritten { .. } => "make the config directory writable",
            Self::Settings(_) => "fix the file; run `swarm config list` to see all settings",
            Self::Variable { key, .. } => return Some(format!("the variable sets `{key}`")),
            Self::UnknownVariable { .. } => "rename or unset it",
            Self::Policy { .. } => "ask the administrator of this machine",
            Self::NotJson { .. } | Self::Rule(_) => "fix the file",
            Self::NotAnObject(_) => "fix the file; an empty object is {}",
            Self::Env { .. } => "fix the file; `env` is an object of strings",
            Self::Several(errors) => return errors.first()?.hint(),
            Self::TrustList { path, .. } => return Some(format!("check {}", path.display())),
            Self::TrustDamaged { .. } => {
                "move the file away, then trust the repositories again with `swarm trust`"
            }
            Self::AgentsFlag(_) => {
                r#"use the form {"reviewer": {"description": "reads a change", "prompt": "You review changes."}}"#
            }
            Self::Lacking(_) | Self::Model(_) => return None,
        };
        Some(hint.to_owned())
    }
}
