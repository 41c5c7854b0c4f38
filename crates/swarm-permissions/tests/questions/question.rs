//! A question as the tests of decisions ask it.

use std::path::Path;

use serde_json::Value;
use swarm_permissions::{Anchors, PlainFiles, Question};
use swarm_protocol::{PermissionMode, ToolKind};

/// A call in `/work`, without a home directory, that reads only if its kind does.
pub(crate) fn question<'a>(tool: &'a str, kind: ToolKind, input: &'a Value) -> Question<'a> {
    Question {
        tool,
        kind,
        input,
        cwd: Path::new("/work"),
        starts_in: Path::new("/work"),
        anchors: Anchors::NONE,
        home: None,
        touches: &[],
        files: &PlainFiles,
        read_only: kind == ToolKind::Read,
        ceiling: PermissionMode::Default,
    }
}
