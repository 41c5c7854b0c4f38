//! An instruction file, and where such files are looked for.

use std::path::PathBuf;

use serde::Serialize;
use swarm_permissions::{InstructionSettings, ReadFilter};

/// Where instructions come from.
#[derive(Debug, Clone)]
pub struct InstructionSources {
    /// Which files count.
    pub settings: InstructionSettings,
    /// The file of the machine's administrator: [`crate::MANAGED_INSTRUCTIONS`].
    pub managed: PathBuf,
    /// The config directory, which has the user's own `CLAUDE.md` and `rules`.
    pub root: PathBuf,
    /// The user's home directory, for imports that begin with `~/`.
    pub home: Option<PathBuf>,
    /// Files that deny rules keep from the agent: no import leads to them.
    pub unreadable: ReadFilter,
}

/// Whose instructions a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InstructionKind {
    /// The machine's administrator.
    Managed,
    /// The user, for all projects.
    User,
    /// The project, for everybody who works on it.
    Project,
    /// The user, for this project.
    Local,
}

impl InstructionKind {
    /// The word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }

    /// What a model is told about such a file.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Managed => "managed policy of this machine",
            Self::User => "the user's instructions for all projects",
            Self::Project => "project instructions, shared by everybody who works on it",
            Self::Local => "the user's private instructions for this project",
        }
    }
}

/// An instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstructionFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whose instructions it has.
    pub kind: InstructionKind,
    /// What it says, without frontmatter.
    #[serde(skip)]
    pub text: String,
    /// The file that imports it.
    pub imported_by: Option<PathBuf>,
    /// Patterns of the files that it applies to; it is loaded when such a file is touched. Empty if it always applies.
    pub paths: Vec<String>,
}
