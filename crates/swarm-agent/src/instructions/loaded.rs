//! Loaded instruction files in the form that hooks receive.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::file::{InstructionFile, InstructionKind};

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
