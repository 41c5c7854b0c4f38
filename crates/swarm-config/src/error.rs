//! What is wrong with a configuration.

use std::io;
use std::path::PathBuf;

use swarm_os::OsError;
use swarm_protocol::ErrorKind;

/// A configuration that cannot be read, is not understood, or asks for what is not allowed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither of the variables that lead to the config directory.
    #[error("neither CLAUDE_CONFIG_DIR nor HOME is set")]
    NoRoot,
    /// A settings file that is not text.
    #[error("{} is not UTF-8 text", .path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// A settings file that the system does not let us read.
    #[error("the settings {} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Settings that are not TOML.
    #[error("{place}: {what}")]
    NotToml {
        /// File and line.
        place: String,
        /// What the parser said.
        what: String,
    },
    /// Settings that are not known or have a value that they cannot have. Each names file and line.
    #[error("{}", .0.join("; "))]
    Settings(Vec<String>),
    /// A setting's variable with a value that it cannot have.
    #[error("${name} must be {expected}, not {value:?}")]
    Variable {
        /// The variable.
        name: String,
        /// What its value may be.
        expected: String,
        /// Its value.
        value: String,
        /// The setting.
        key: &'static str,
    },
    /// A variable whose name is nearly that of a setting.
    #[error("${name} sets nothing; did you mean ${known}?")]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The one that was probably meant.
        known: String,
    },
    /// A value that the machine's policy does not allow.
    #[error("`{name}` may be {allowed} on this machine, not {value} (managed policy, {place})")]
    Policy {
        /// The setting.
        name: String,
        /// What it may be.
        allowed: String,
        /// What was asked for.
        value: String,
        /// The policy's file and line.
        place: String,
    },
    /// A setting without a built-in value, which is a defect of the program.
    #[error("the built-in settings lack `{0}`")]
    Lacking(String),
    /// A `settings.json` that is not JSON.
    #[error("{} is not JSON: {source}", .path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A `settings.json` that is JSON of another shape.
    #[error("{} is not a JSON object", .path.display())]
    NotAnObject {
        /// The file.
        path: PathBuf,
    },
    /// A permission rule that is not understood. The text names its file.
    #[error("{0}")]
    Rule(String),
    /// A variable of `env` that cannot be one.
    #[error("{}: {what}", .path.display())]
    Env {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A variable that asks for a coordinator.
    #[error("coordinator mode (${variable}) is not supported")]
    Coordinator {
        /// The variable.
        variable: &'static str,
    },
    /// Everything that is wrong with several files.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<ConfigError>),
    /// The list of trusted repositories cannot be read or changed.
    #[error("the list of trusted repositories: {source}")]
    TrustList {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: OsError,
    },
    /// The list of trusted repositories is not understood.
    #[error("{} is damaged: {source}", .path.display())]
    TrustDamaged {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// `--agents` is not understood.
    #[error("{0}")]
    AgentsFlag(String),
    /// An agent of `--agents` names a model that is not one.
    #[error("--agents: agent `{agent}`: {what}")]
    AgentsFlagModel {
        /// The agent.
        agent: String,
        /// What is wrong with its model.
        what: String,
    },
    /// Text that is not the name of a model.
    #[error("{0}")]
    Model(String),
}

impl ConfigError {
    /// One error for all of these; `None` for none. Kind and hint are those of the first.
    pub(crate) fn all(mut errors: Vec<Self>) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Self::Several(errors)),
        }
    }

    /// The kind, which decides the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRoot | Self::Unreadable { .. } | Self::TrustList { .. } => {
                ErrorKind::Environment
            }
            Self::Policy { .. } => ErrorKind::Refused,
            Self::Lacking(_) => ErrorKind::Internal,
            Self::TrustDamaged { .. } => ErrorKind::Damaged,
            Self::Several(errors) => errors.first().map_or(ErrorKind::Usage, Self::kind),
            _ => ErrorKind::Usage,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoRoot => {
                "set CLAUDE_CONFIG_DIR to the directory that shall hold teams and tasks"
            }
            Self::NotUtf8 { .. } => "save it as UTF-8",
            Self::Unreadable { .. } => "make it a file that you may read, or move it away",
            Self::NotToml { .. } => "correct the file; it is written in TOML",
            Self::Settings(_) => "correct the file; `swarm config list` shows every setting",
            Self::Variable { key, .. } => return Some(format!("it sets `{key}`")),
            Self::UnknownVariable { .. } => "correct its name, or unset it",
            Self::Policy { .. } => "ask whoever looks after the machine",
            Self::NotJson { .. } | Self::Rule(_) => "correct the file",
            Self::NotAnObject { .. } => "correct the file; an empty one is {}",
            Self::Env { .. } => "correct the file; `env` is an object of texts",
            Self::Coordinator { variable } => {
                return Some(format!("unset {variable} to run a normal lead"));
            }
            Self::Several(errors) => return errors.first()?.hint(),
            Self::TrustList { path, .. } => return Some(format!("look at {}", path.display())),
            Self::TrustDamaged { .. } => {
                "move it away, and trust the repositories that you want again with `swarm trust`"
            }
            Self::AgentsFlag(_) => {
                r#"write it as {"reviewer": {"description": "reads a change", "prompt": "You review changes."}}"#
            }
            Self::Lacking(_) | Self::AgentsFlagModel { .. } | Self::Model(_) => return None,
        };
        Some(hint.to_owned())
    }
}
