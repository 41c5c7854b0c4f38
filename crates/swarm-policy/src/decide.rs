//! The decision itself: denials, then questions, then grants, then the mode.

use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_protocol::{PermissionMode, ToolKind};

use crate::{Decision, RuleSet};

/// One call about to be made.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a Value,
    /// The agent's working folder, absolute.
    pub cwd: &'a Path,
    /// The user's home folder, for rules that begin with `~/`.
    pub home: Option<&'a Path>,
    /// The paths the call would touch with symbolic links resolved, as `Tool::touches` gives them.
    pub touches: &'a [PathBuf],
    /// Whether the tool says that this call changes nothing.
    pub read_only: bool,
    /// The tool's family.
    pub kind: ToolKind,
}

/// Decides about one call.
pub fn decide(_mode: PermissionMode, _rules: &RuleSet, _question: &Question<'_>) -> Decision {
    Decision::Ask {
        why: "no rule speaks of it".into(),
        suggestions: Vec::new(),
    }
}
