//! The input of a permission decision: one call, and facts about files, which the caller provides.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_protocol::{PermissionMode, ToolKind, folded_path};

use crate::Anchors;
use crate::rule::Bases;

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
    folded_path(&cwd.join(path))
}

/// Returns the host of a URL in lower case, without user and port.
pub(crate) fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// The file system as seen by a decision. Paths are absolute.
pub trait FileFacts: Debug {
    /// Returns where a path may lead, resolving symbolic links and `..` like the kernel. In a
    /// `pattern`, a component with a wildcard expands to every entry of its directory. `None` if
    /// this cannot be determined.
    fn leads_to(&self, path: &Path, pattern: bool) -> Option<Vec<PathBuf>>;

    /// Returns whether a file holds secrets and must not be read. Links in the path are resolved.
    fn is_secret(&self, real: &Path) -> bool;

    /// Returns the files with secrets below this directory, at any depth.
    fn secrets_below(&self, real: &Path) -> Vec<PathBuf>;

    /// Returns whether a file has another name (hard link), to which a rule may apply.
    fn has_other_names(&self, real: &Path) -> bool;

    /// Returns why git in this directory might start programs chosen by the agent: it does not use
    /// the repository and configuration that existed when the agent started, or is not run through
    /// the wrapper that prevents this. `None` if it cannot.
    fn git_doubt(&self, directory: &Path) -> Option<&'static str>;

    /// Returns why other programs would execute or obey the content of a file later, if they do.
    fn runs_later(&self, real: &Path) -> Option<RunsLater>;
}

/// Why the content of a file is executed or obeyed later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsLater {
    /// The file or directory name that other programs look for, such as `.husky` or `.bashrc`.
    pub name: String,
    /// Whether it is in the user's config directory, which is never part of a working directory.
    pub of_config_directory: bool,
}

/// A file system without links, secrets or special names, and a trusted git, for decisions based on
/// text alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainFiles;

impl FileFacts for PlainFiles {
    fn leads_to(&self, path: &Path, _pattern: bool) -> Option<Vec<PathBuf>> {
        Some(vec![path.to_owned()])
    }

    fn is_secret(&self, _real: &Path) -> bool {
        false
    }

    fn secrets_below(&self, _real: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    fn has_other_names(&self, _real: &Path) -> bool {
        false
    }

    fn git_doubt(&self, _directory: &Path) -> Option<&'static str> {
        None
    }

    fn runs_later(&self, _real: &Path) -> Option<RunsLater> {
        None
    }
}
