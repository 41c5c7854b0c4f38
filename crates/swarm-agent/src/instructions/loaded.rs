//! Instruction files that a model was told of, as hooks hear of them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::file::{InstructionFile, InstructionKind};

/// A file that became part of a conversation. The words are those of Claude Code's `InstructionsLoaded`, but `change`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadedFile {
    path: PathBuf,
    kind: InstructionKind,
    reason: &'static str,
    globs: Vec<String>,
    imported_by: Option<PathBuf>,
    /// The file that a call touched.
    trigger: Option<PathBuf>,
}

impl LoadedFile {
    /// A file that was read for this reason, unless another file imports it.
    pub(super) fn new(file: &InstructionFile, reason: &'static str) -> Self {
        let imported = file.imported_by.is_some();
        Self {
            path: file.path.clone(),
            kind: file.kind,
            reason: if imported { "include" } else { reason },
            globs: file.paths.clone(),
            imported_by: file.imported_by.clone(),
            trigger: None,
        }
    }

    /// A file that was read because calls touched these files.
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

    /// Why it was read, which is what matchers are held against.
    pub(crate) fn reason(&self) -> &'static str {
        self.reason
    }

    /// The fields of the event.
    pub(crate) fn fields(&self) -> Value {
        let mut fields = json!({
            "file_path": self.path,
            "memory_type": match self.kind {
                InstructionKind::Managed => "Managed",
                InstructionKind::User => "User",
                InstructionKind::Project => "Project",
                InstructionKind::Local => "Local",
            },
            "load_reason": self.reason,
        });
        if !self.globs.is_empty() {
            fields["globs"] = json!(self.globs);
        }
        if let Some(trigger) = &self.trigger {
            fields["trigger_file_path"] = json!(trigger);
        }
        if let Some(parent) = &self.imported_by {
            fields["parent_file_path"] = json!(parent);
        }
        fields
    }
}
