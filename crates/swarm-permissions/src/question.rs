//! The input of a permission decision: one call.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use swarm_protocol::{PermissionMode, ToolKind};

use crate::rule::Bases;
use crate::{Anchors, FileFacts};

/// A call to decide on.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The input.
    pub input: &'a Value,
    /// The agent's working directory, absolute and without symbolic links, like the paths compared
    /// with it.
    pub cwd: &'a Path,
    /// The directory in which a shell command starts: the working directory, or where earlier
    /// commands changed to.
    pub starts_in: &'a Path,
    /// Additional base directories of relative patterns.
    pub anchors: &'a Anchors,
    /// The user's home directory, for rules that begin with `~/`.
    pub home: Option<&'a Path>,
    /// The paths that the call would touch, with symbolic links resolved, from `Tool::touches`.
    pub touches: &'a [PathBuf],
    /// Facts about files.
    pub files: &'a dyn FileFacts,
    /// Whether the tool declares that this call changes nothing. Ignored for shell commands, which
    /// are judged by their text.
    pub read_only: bool,
    /// The tool's family.
    pub kind: ToolKind,
    /// The most permissive mode that the agent can be given. Higher modes are not suggested.
    pub ceiling: PermissionMode,
}

impl<'a> Question<'a> {
    /// Returns a string of the input.
    pub(crate) fn text(&self, field: &str) -> Option<&'a str> {
        self.input.get(field).and_then(Value::as_str)
    }

    /// Returns the command line of a shell call.
    pub(crate) fn command(&self) -> Option<&'a str> {
        if self.tool == "Bash" {
            Some(self.text("command").unwrap_or_default())
        } else {
            None
        }
    }

    pub(crate) fn bases(&self) -> Bases<'a> {
        Bases {
            cwd: self.cwd,
            anchors: self.anchors,
            home: self.home,
        }
    }

    /// Returns the paths of a file tool, as given and with links resolved, absolute and without `.`
    /// and `..`.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        if !matches!(self.kind, ToolKind::Read | ToolKind::Edit) {
            return Vec::new();
        }
        let given = ["file_path", "notebook_path", "path"]
            .iter()
            .find_map(|field| self.text(field));
        let mut paths = vec![absolute(given.unwrap_or("."), self.cwd)];
        paths.extend(self.touches.iter().cloned());
        paths.dedup();
        paths
    }
}

/// Returns a path as tools interpret it: relative to the working directory, with `.` and `..`
/// resolved lexically.
pub(crate) fn absolute(path: &str, cwd: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for component in cwd.join(path).components() {
        match component {
            Component::ParentDir => {
                folded.pop();
            }
            Component::CurDir => {}
            other => folded.push(other),
        }
    }
    folded
}

/// Returns the host of a URL in lower case, without user and port.
pub(crate) fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}
