//! Runs git on a worktree without trusting the git files in it. Environment variables tell git all
//! paths. The private git directory is a temporary one with the branch and the original settings of
//! the worktree, and the index is passed by path. Git therefore reads neither the `.git` file nor
//! the settings of the worktree, even if they change in the meantime.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use swarm_os::{read_optional, replace_alone, replace_in_private_dir};
use swarm_protocol::word_list;

use crate::git::{Call, fields, path, text};
use crate::heads::Seen;
use crate::registration::{SETTINGS, check, trusted_settings};
use crate::repository::Repository;
use crate::temporary::TemporaryDirectory;
use crate::{GitError, Record, Result, WorktreeError};

/// A checkout that git runs in.
#[derive(Debug)]
pub(crate) enum Checkout<'a> {
    /// A checkout of the user.
    Plain(&'a Repository, PathBuf),
    /// A worktree of swarm.
    Viewed(View<'a>),
}

impl<'a> Checkout<'a> {
    /// Returns the checkout at a path: a view if it is a worktree of swarm.
    pub(crate) fn at(repository: &'a Repository, path: &Path) -> Result<Self> {
        match repository.recorded_at(path)? {
            Some(record) => View::open(repository, &record).map(Self::Viewed),
            None => Ok(Self::Plain(repository, path.to_owned())),
        }
    }

    /// Prepares a call of git in the checkout.
    pub(crate) fn git(&self) -> Call<'_> {
        match self {
            Self::Plain(repository, path) => repository.at(path),
            Self::Viewed(view) => view.git(),
        }
    }

    /// Returns git's list of the files that differ from the commit. `untracked` is its option for
    /// untracked files.
    pub(crate) fn status(&self, untracked: &str) -> Result<Vec<u8>, GitError> {
        let words = const { word_list::<4>("status --porcelain=v1 -z --no-renames") };
        let words = [&words[..], &[untracked, self.submodules()]].concat();
        self.git().run(&words)
    }

    /// Returns the option for submodules. Git does not enter submodules of worktrees, because it
    /// would use their settings.
    pub(crate) fn submodules(&self) -> &'static str {
        match self {
            Self::Plain(..) => "--ignore-submodules=none",
            Self::Viewed(_) => "--ignore-submodules=dirty",
        }
    }

    /// Returns the paths of these files.
    pub(crate) fn changed_files(&self, untracked: &str) -> Result<Vec<String>> {
        let listed = self.status(untracked)?;
        let paths = fields(&listed).map(|field| text(field.get(3..).unwrap_or_default()));
        Ok(paths.collect())
    }

    /// Returns nested repositories that git would enter to find files to add.
    pub(crate) fn inner(&self) -> Result<Vec<String>> {
        match self {
            Self::Plain(..) => Ok(Vec::new()),
            Self::Viewed(view) => view.inner(),
        }
    }
}

/// A protected view of a worktree of swarm for git.
#[derive(Debug)]
pub(crate) struct View<'a> {
    repository: &'a Repository,
    /// The state of the worktree.
    pub(crate) seen: Seen,
    /// The temporary private git directory.
    directory: TemporaryDirectory,
    index: PathBuf,
}

impl<'a> View<'a> {
    /// Opens a view of a worktree that matches its record.
    pub(crate) fn open(repository: &'a Repository, record: &Record) -> Result<Self> {
        let seen = check(repository, record)?;
        let view = Self {
            repository,
            directory: TemporaryDirectory::create(repository)?,
            index: seen.git_dir.join("index"),
            seen,
        };
        view.fill(record)?;
        Ok(view)
    }

    fn fill(&self, record: &Record) -> Result<()> {
        let directory = self.directory.path();
        let unknown = || WorktreeError::Mismatch {
            path: record.path.clone(),
            why: "its commit cannot be determined".to_owned(),
        };
        let head = match (&self.seen.branch, &self.seen.head) {
            (Some(branch), _) => format!("ref: refs/heads/{branch}\n"),
            (None, Some(head)) => format!("{head}\n"),
            (None, None) => return Err(unknown()),
        };
        replace_alone(&directory.join("HEAD"), head.as_bytes())?;
        let common = self.repository.common.as_os_str().as_bytes();
        replace_alone(&directory.join("commondir"), common)?;
        if let Some(settings) = trusted_settings(self.repository, record, &self.seen.git_dir)? {
            replace_alone(&directory.join(SETTINGS), settings.as_bytes())?;
        }
        let sparse = "info/sparse-checkout";
        if let Some(patterns) = read_optional(&self.seen.git_dir.join(sparse))? {
            replace_in_private_dir(&directory.join(sparse), &patterns)?;
        }
        // Git would follow a symbolic link and write to its target.
        let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
        if self.index.symlink_metadata().is_ok() && !is_file(&self.index) {
            return Err(WorktreeError::Mismatch {
                path: record.path.clone(),
                why: format!("{} is not a regular file", self.index.display()),
            });
        }
        Ok(())
    }

    /// Prepares a call of git in the worktree.
    pub(crate) fn git(&self) -> Call<'_> {
        self.repository
            .at(&self.seen.toplevel)
            .in_checkout(self.directory.path())
            .with_index(&self.index)
    }

    /// Returns the directories of submodule entries that are not empty. Git does not inspect their
    /// contents.
    fn inner(&self) -> Result<Vec<String>> {
        let listed = self.git().run(&["ls-files", "-z", "--stage"])?;
        let head = self.git().run(&["ls-tree", "-z", "-r", "HEAD"])?;
        // The mode of a submodule entry, see git-fast-import(1).
        let entries = fields(&listed)
            .chain(fields(&head))
            .filter(|entry| entry.starts_with(b"160000 "));
        let mut inner = Vec::new();
        for entry in entries {
            let tab = entry.iter().position(|byte| *byte == b'\t');
            let name = entry.get(tab.map_or(0, |at| at + 1)..).unwrap_or_default();
            let there = self.seen.toplevel.join(path(name));
            let is_directory = there.symlink_metadata().is_ok_and(|found| found.is_dir());
            // An unreadable directory may not be empty.
            if is_directory && fs::read_dir(&there).map_or(true, |mut held| held.next().is_some()) {
                inner.push(text(name));
            }
        }
        inner.dedup();
        Ok(inner)
    }
}
