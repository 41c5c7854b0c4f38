//! Instruction files, their sources, the form in which hooks receive them, and changes of files,
//! detected with one `stat` each.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
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

/// The state of a path: device, inode, size, and modification time in seconds and nanoseconds;
/// `None` if it did not exist.
type FileState = Option<(u64, u64, u64, i64, i64)>;

/// Paths and their state when they were last read.
#[derive(Debug, Default)]
pub(super) struct Probes(Vec<(PathBuf, FileState)>);

impl Probes {
    pub(super) fn add(&mut self, path: &Path) {
        self.0.push((path.to_owned(), file_state(path)));
    }

    pub(super) fn changed(&self) -> bool {
        self.0
            .iter()
            .any(|(path, recorded)| file_state(path) != *recorded)
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

fn file_state(path: &Path) -> FileState {
    let metadata = fs::metadata(path).ok()?;
    Some((
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    ))
}

/// A file that was added to a conversation. The reasons are those of Claude Code's
/// `InstructionsLoaded`, plus `change`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadedFile {
    file: InstructionFile,
    reason: &'static str,
    /// The touched file that caused the load.
    trigger: Option<PathBuf>,
}

impl LoadedFile {
    /// Creates an entry with this reason, or with `include` if another file imports it.
    pub(super) fn new(file: &InstructionFile, reason: &'static str) -> Self {
        let imported = file.imported_by.is_some();
        Self {
            file: file.clone(),
            reason: if imported { "include" } else { reason },
            trigger: None,
        }
    }

    /// Creates an entry for a file that was loaded because these files were touched.
    pub(super) fn touched(
        file: &InstructionFile,
        touched: &[PathBuf],
        applies: impl Fn(&Path) -> bool,
    ) -> Self {
        let reason = if file.paths.is_empty() {
            "nested_traversal"
        } else {
            "path_glob_match"
        };
        let trigger = touched.iter().find(|path| applies(path));
        Self {
            trigger: trigger.cloned(),
            ..Self::new(file, reason)
        }
    }

    /// Returns the load reason, which matchers of hooks are compared with.
    pub(crate) fn reason(&self) -> &'static str {
        self.reason
    }

    /// Returns the fields of the hook event.
    pub(crate) fn fields(&self) -> Value {
        let mut fields = json!({
            "file_path": self.file.path,
            "memory_type": match self.file.kind {
                InstructionKind::Managed => "Managed",
                InstructionKind::User => "User",
                InstructionKind::Project => "Project",
                InstructionKind::Local => "Local",
            },
            "load_reason": self.reason,
        });
        if !self.file.paths.is_empty() {
            fields["globs"] = json!(self.file.paths);
        }
        if let Some(trigger) = &self.trigger {
            fields["trigger_file_path"] = json!(trigger);
        }
        if let Some(parent) = &self.file.imported_by {
            fields["parent_file_path"] = json!(parent);
        }
        fields
    }
}
