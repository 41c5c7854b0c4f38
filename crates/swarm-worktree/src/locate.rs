//! Finding the repository that a directory belongs to.

use std::path::{Path, PathBuf};

use crate::anchor::{Anchored, anchored};
use crate::git::text;
use crate::places::Places;
use crate::registration::admin;
use crate::repository::{Repository, unsuitable};
use crate::{Git, WorktreeError};

impl Repository {
    /// The repository around a directory: the innermost one, so a nested repository or a submodule is its own.
    ///
    /// Git is not asked in a worktree of swarm, whose `.git` file may have been made to lead elsewhere.
    pub(crate) fn find(
        git: &Git,
        places: &Places,
        directory: &Path,
    ) -> Result<Self, WorktreeError> {
        match anchored(places, directory)? {
            Some(anchored) => Self::of_worktree(git, places, anchored),
            None => Self::around(git, places, directory),
        }
    }

    /// The repository of a worktree of swarm.
    pub(crate) fn of_worktree(
        git: &Git,
        places: &Places,
        anchored: Anchored,
    ) -> Result<Self, WorktreeError> {
        let record = anchored.record;
        let mut found = Self {
            git: git.clone(),
            places: places.clone(),
            top: record.path.clone(),
            below: anchored.below,
            common: anchored.common,
            main: None,
            tree: None,
        };
        let own = admin(&found, &record).unwrap_or_else(|| record.path.clone());
        found.tree = Some(record);
        found.main = found.main_checkout(&own)?;
        Ok(found)
    }

    fn around(git: &Git, places: &Places, directory: &Path) -> Result<Self, WorktreeError> {
        let words = [
            // Files of a clone can be a repository without a checkout, with settings that name programs.
            "-c",
            "safe.bareRepository=explicit",
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-common-dir",
            "--show-prefix",
        ];
        let out = match git.at(directory).status(&words)? {
            (Some(0), out, _) => out,
            (_, _, said) => return Err(no_checkout(directory, &text(&said))),
        };
        let out = text(&out);
        let lines: Vec<_> = out.lines().map(PathBuf::from).collect();
        let [top, git_dir, common, below @ ..] = lines.as_slice() else {
            return Err(unsuitable(directory, "git does not say where it is"));
        };
        // A line break in a path would shift the lines.
        if below.len() > 1 || !top.is_dir() || !common.is_dir() {
            return Err(unsuitable(
                directory,
                "its path has a character that swarm cannot use",
            ));
        }
        let mut found = Self {
            git: git.clone(),
            places: places.clone(),
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
        return WorktreeError::NoRepository {
            directory: directory.to_owned(),
        };
    }
    if said.contains("must be run in a work tree") || said.contains("safe.bareRepository") {
        let why = "this is git's own directory, or a bare repository: go to a checkout of it";
        return unsuitable(directory, why);
    }
    unsuitable(directory, said.trim().trim_start_matches("fatal: "))
}
