//! Instruction files and their sources.

use std::path::PathBuf;

use serde::Serialize;
use swarm_permissions::{InstructionSettings, ReadFilter};
use swarm_protocol::named_enum;

/// The sources of instruction files.
#[derive(Debug, Clone)]
pub struct InstructionSources {
    /// File names, exclusions and trust.
    pub settings: InstructionSettings,
    /// The administrator's file: [`crate::MANAGED_INSTRUCTIONS`].
    pub managed: PathBuf,
    /// The config directory with the user's `CLAUDE.md` and `rules`.
    pub root: PathBuf,
    /// The user's home directory, for imports that begin with `~/`.
    pub home: Option<PathBuf>,
    /// Files covered by deny rules, which cannot be imported.
    pub unreadable: ReadFilter,
}

named_enum! {
    /// The author of an instruction file.
    pub enum InstructionKind {
        /// The machine's administrator.
        Managed = "managed",
        /// The user, for all projects.
        User = "user",
        /// The project, for all contributors.
        Project = "project",
        /// The user, for this project.
        Local = "local",
    }
}

impl InstructionKind {
    /// Returns the description of such a file for a model.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Managed => "managed policy of this machine",
            Self::User => "the user's instructions for all projects",
            Self::Project => "project instructions, shared by all contributors",
            Self::Local => "the user's private instructions for this project",
        }
    }
}

/// An instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstructionFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Author of the instructions.
    pub kind: InstructionKind,
    /// Content without frontmatter.
    #[serde(skip)]
    pub text: String,
    /// The file that imports this one, if any.
    pub imported_by: Option<PathBuf>,
    /// Patterns of the files that it applies to; it is loaded when such a file is touched. Empty if
    /// it always applies.
    pub paths: Vec<String>,
}
