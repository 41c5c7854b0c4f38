//! Finds the repository of a directory.

use std::path::{Path, PathBuf};

use swarm_protocol::word_list;

use crate::enclosing::{EnclosingWorktree, find_enclosing};
use crate::git::text;
use crate::registration::admin;
use crate::registry::WorktreeRegistry;
use crate::repository::{Repository, unsuitable};
use crate::{Git, Result, WorktreeError};

/// The command that locates a repository. A clone may contain a bare repository with settings that
/// name programs.
const LOCATE: [&str; 8] = word_list(
    "-c safe.bareRepository=explicit rev-parse --path-format=absolute --show-toplevel
    --git-dir --git-common-dir --show-prefix",
);

impl Repository {
    /// Returns the innermost repository that contains a directory. Nested repositories and
    /// submodules count as separate ones. Git is not run in a worktree of swarm, whose `.git` file
    /// may have been manipulated.
    pub(crate) fn find(git: &Git, registry: &WorktreeRegistry, directory: &Path) -> Result<Self> {
        match find_enclosing(registry, directory)? {
            Some(enclosing) => Self::of_worktree(git, registry, enclosing),
            None => Self::around(git, registry, directory),
        }
    }

    /// Returns the repository of a worktree of swarm.
    pub(crate) fn of_worktree(
        git: &Git,
        registry: &WorktreeRegistry,
        enclosing: EnclosingWorktree,
    ) -> Result<Self> {
        let record = enclosing.record;
        let mut found = Self {
            git: git.clone(),
            registry: registry.clone(),
            top: record.path.clone(),
            below: enclosing.below,
            common: enclosing.common,
            main: None,
            tree: None,
        };
        let own = admin(&found, &record).unwrap_or_else(|| record.path.clone());
        found.tree = Some(record);
        found.main = found.main_checkout(&own)?;
        Ok(found)
    }

    fn around(git: &Git, registry: &WorktreeRegistry, directory: &Path) -> Result<Self> {
        let out = match git.at(directory).status(&LOCATE)? {
            (Some(0), out, _) => out,
            (_, _, said) => return Err(no_checkout(directory, &text(&said))),
        };
        let out = text(&out);
        let lines: Vec<_> = out.lines().map(PathBuf::from).collect();
        let [top, git_dir, common, below @ ..] = lines.as_slice() else {
            return Err(unsuitable(directory, "git did not print its paths"));
        };
        // A line break in a path would add a line.
        if below.len() > 1 || !top.is_dir() || !common.is_dir() {
            return Err(unsuitable(
                directory,
                "its path contains a character that swarm does not support",
            ));
        }
        let mut found = Self {
            git: git.clone(),
            registry: registry.clone(),
            top: top.clone(),
            below: below.first().cloned().unwrap_or_default(),
            common: common.canonicalize().unwrap_or_else(|_| common.clone()),
            main: None,
            tree: None,
        };
        found.main = found.main_checkout(git_dir)?;
        Ok(found)
    }
}

fn no_checkout(directory: &Path, said: &str) -> WorktreeError {
    if said.contains("not a git repository") {
        return WorktreeError::NoRepository(directory.to_owned());
    }
    if said.contains("must be run in a work tree") || said.contains("safe.bareRepository") {
        let why = "this is a git directory or a bare repository; run the command in a checkout";
        return unsuitable(directory, why);
    }
    unsuitable(directory, said.trim().trim_start_matches("fatal: "))
}
