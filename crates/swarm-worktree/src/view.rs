//! Git in a worktree that somebody else works in, without believing what they wrote for git to read.
//!
//! Git is told by its environment where everything is. Of what is the worktree's own it gets a directory that is made for the
//! purpose, with the branch, the settings that the worktree was made with, and its index by name. So neither the `.git`
//! file nor the settings in there are read, whatever becomes of them meanwhile.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use swarm_os::process::ProcessStat;
use swarm_os::{ensure_private_dir, read_optional, replace_alone};
use uuid::Uuid;

use crate::git::{Call, fields, path, text};
use crate::heads::Seen;
use crate::registration::{SETTINGS, check, trusted_settings};
use crate::repository::Repository;
use crate::{Record, WorktreeError};

/// How the directories of views begin; the number of the process that made it follows.
const VIEW: &str = "view-";

/// A checkout that git runs in.
#[derive(Debug)]
pub(crate) enum Checkout<'a> {
    /// A person's own.
    Plain(&'a Repository, PathBuf),
    /// A worktree of swarm.
    Viewed(View<'a>),
}

impl<'a> Checkout<'a> {
    /// The checkout at a path: a view if it is a worktree of swarm.
    pub(crate) fn at(repository: &'a Repository, path: &Path) -> Result<Self, WorktreeError> {
        match repository.recorded_at(path)? {
            Some(record) => View::open(repository, &record).map(Self::Viewed),
            None => Ok(Self::Plain(repository, path.to_owned())),
        }
    }

    /// A call of git in it.
    pub(crate) fn git(&self) -> Call<'_> {
        match self {
            Self::Plain(repository, path) => repository.at(path),
            Self::Viewed(view) => view.git(),
        }
    }

    /// How git shall look at submodules: into those of others it does not go, since it would run there by what they say.
    pub(crate) fn submodules(&self) -> &'static str {
        match self {
            Self::Plain(..) => "--ignore-submodules=none",
            Self::Viewed(_) => "--ignore-submodules=dirty",
        }
    }

    /// Repositories in it that git would go into to find out what is to be added.
    pub(crate) fn inner(&self) -> Result<Vec<String>, WorktreeError> {
        match self {
            Self::Plain(..) => Ok(Vec::new()),
            Self::Viewed(view) => view.inner(),
        }
    }
}

/// A worktree of swarm as git shall see it.
#[derive(Debug)]
pub(crate) struct View<'a> {
    repository: &'a Repository,
    /// Where the worktree stands.
    pub(crate) seen: Seen,
    /// What git takes for the worktree's own directory.
    directory: PathBuf,
    index: PathBuf,
}

impl<'a> View<'a> {
    /// Looks at a worktree that is as it was made.
    pub(crate) fn open(repository: &'a Repository, record: &Record) -> Result<Self, WorktreeError> {
        let seen = check(repository, record)?;
        let name = format!("{VIEW}{}-{}", std::process::id(), Uuid::new_v4());
        let view = Self {
            repository,
            directory: repository.own_directory().join(name),
            index: seen.git_dir.join("index"),
            seen,
        };
        view.fill(record)?;
        Ok(view)
    }

    fn fill(&self, record: &Record) -> Result<(), WorktreeError> {
        ensure_private_dir(&self.directory)?;
        let unknown = || WorktreeError::Mismatch {
            path: record.path.clone(),
            why: "its commit cannot be told".to_owned(),
        };
        let head = match (&self.seen.branch, &self.seen.head) {
            (Some(branch), _) => format!("ref: refs/heads/{branch}\n"),
            (None, Some(head)) => format!("{head}\n"),
            (None, None) => return Err(unknown()),
        };
        replace_alone(&self.directory.join("HEAD"), head.as_bytes())?;
        let common = self.repository.common.as_os_str().as_bytes();
        replace_alone(&self.directory.join("commondir"), common)?;
        if let Some(settings) = trusted_settings(self.repository, record, &self.seen.git_dir)? {
            replace_alone(&self.directory.join(SETTINGS), settings.as_bytes())?;
        }
        let sparse = "info/sparse-checkout";
        if let Some(patterns) = read_optional(&self.seen.git_dir.join(sparse))? {
            ensure_private_dir(&self.directory.join("info"))?;
            replace_alone(&self.directory.join(sparse), &patterns)?;
        }
        // Git would follow a symbolic link and write what it leads to.
        let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
        if self.index.symlink_metadata().is_ok() && !is_file(&self.index) {
            return Err(WorktreeError::Mismatch {
                path: record.path.clone(),
                why: format!("{} is no file", self.index.display()),
            });
        }
        Ok(())
    }

    /// A call of git in the worktree.
    pub(crate) fn git(&self) -> Call<'_> {
        self.repository
            .at(&self.seen.toplevel)
            .in_checkout(&self.directory)
            .with_index(&self.index)
    }

    /// Commits of other repositories that are tracked here and have their repository with them, or anything else in their
    /// directory: git looks at none of it.
    fn inner(&self) -> Result<Vec<String>, WorktreeError> {
        let listed = self.git().run(&["ls-files", "-z", "--stage"])?;
        let head = self.git().run(&["ls-tree", "-z", "-r", "HEAD"])?;
        // The mode of such an entry, see git-fast-import(1).
        let entries = fields(&listed)
            .chain(fields(&head))
            .filter(|entry| entry.starts_with(b"160000 "));
        let mut inner = Vec::new();
        for entry in entries {
            let tab = entry.iter().position(|byte| *byte == b'\t');
            let name = entry.get(tab.map_or(0, |at| at + 1)..).unwrap_or_default();
            let there = self.seen.toplevel.join(path(name));
            let is_directory = there.symlink_metadata().is_ok_and(|found| found.is_dir());
            // A directory that cannot be read may hold something.
            if is_directory && fs::read_dir(&there).map_or(true, |mut held| held.next().is_some()) {
                inner.push(text(name));
            }
        }
        inner.dedup();
        Ok(inner)
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::debug!(%error, "view of a worktree not removed");
        }
    }
}

/// Removes the views that dead processes have left.
pub(crate) fn clear(repository: &Repository) {
    let Ok(entries) = fs::read_dir(repository.own_directory()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name
            .strip_prefix(VIEW)
            .and_then(|rest| rest.split('-').next());
        if maker.is_some_and(is_gone)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::debug!(%error, "view of a dead process not removed");
        }
    }
}

/// Whether no process has this pid. A text that is no pid is not taken for one.
fn is_gone(pid: &str) -> bool {
    pid.parse()
        .map_or(true, |pid| ProcessStat::of(pid).is_none())
}
