//! The directories whose instruction files apply to a working directory.

use std::path::{Path, PathBuf};

use swarm_os::{LinkedWorktree, repository_top};

/// A directory and, in a linked worktree, its counterpart in the main checkout, which alone
/// contains untracked files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) dir: PathBuf,
    pub(super) main: Option<PathBuf>,
}

/// The repository around a working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// Top directory of the checkout that contains the working directory.
    pub(super) top: PathBuf,
    /// The main checkout, if it is a different one.
    pub(super) main: Option<PathBuf>,
}

impl Repository {
    pub(super) fn around(cwd: &Path) -> Self {
        let top = repository_top(cwd).to_owned();
        let linked = top.canonicalize().ok();
        let linked = linked.and_then(|top| LinkedWorktree::of(&top));
        let main = linked.and_then(|tree| tree.main_checkout().map(Path::to_owned));
        Self { top, main }
    }

    /// Returns the top directories of its checkouts.
    pub(super) fn tops(&self) -> impl Iterator<Item = &PathBuf> {
        self.main.iter().chain(std::iter::once(&self.top))
    }

    /// Returns a directory of the checkout with its counterpart.
    pub(super) fn layer(&self, dir: &Path) -> Layer {
        let below = dir.strip_prefix(&self.top).ok();
        let main = self.main.as_ref().zip(below);
        Layer {
            dir: dir.to_owned(),
            main: main.map(|(main, below)| main.join(below)),
        }
    }

    /// Returns the layers from the root of the file system down to the working directory. For a
    /// worktree inside its main checkout, the directories in between are left out: they belong to
    /// the main checkout, whose files are the counterparts.
    pub(super) fn layers(&self, cwd: &Path) -> Vec<Layer> {
        let outer = self.main.as_ref().unwrap_or(&self.top);
        let mut layers: Vec<Layer> = outer
            .ancestors()
            .skip(1)
            .map(|dir| Layer {
                dir: dir.to_owned(),
                main: None,
            })
            .collect();
        layers.reverse();
        let mut inner: Vec<Layer> = cwd
            .ancestors()
            .take_while(|dir| dir.starts_with(&self.top))
            .map(|dir| self.layer(dir))
            .collect();
        inner.reverse();
        layers.extend(inner);
        layers
    }
}
