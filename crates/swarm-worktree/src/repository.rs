//! Repositories and their checkouts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_os::ensure_private_dir;
use swarm_protocol::ErrorKind;

use crate::git::{Call, fields, path, text, words};
use crate::record::records_of;
use crate::registry::WorktreeRegistry;
use crate::{Git, GitError, Record, Result, Slug, WorktreeError};

/// Pauses in milliseconds between attempts to list checkouts while git is adding one. There is no
/// notification.
const RETRY_PAUSES: [u64; 6] = [2, 5, 10, 50, 200, 500];

/// A repository, seen from one of its checkouts.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    pub(crate) git: Git,
    /// Index of worktree directories outside of main checkouts.
    pub(crate) registry: WorktreeRegistry,
    /// Top-level directory of the caller's checkout.
    pub(crate) top: PathBuf,
    /// The caller's directory relative to `top`.
    pub(crate) below: PathBuf,
    /// Git directory shared by all checkouts.
    pub(crate) common: PathBuf,
    /// The main checkout; `None` for a bare repository.
    pub(crate) main: Option<PathBuf>,
    /// The record of the caller's checkout, if it is a worktree of swarm.
    pub(crate) tree: Option<Record>,
}

/// A checkout that git lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registered {
    pub(crate) path: PathBuf,
    pub(crate) branch: Option<String>,
}

impl Repository {
    /// Returns the main checkout, given the git directory of the caller's checkout.
    pub(crate) fn main_checkout(&self, git_dir: &Path) -> Result<Option<PathBuf>> {
        let listed = self.checkouts()?;
        let first = fields(&listed).take_while(|field| !field.starts_with(b"HEAD"));
        if first.into_iter().any(|field| field == b"bare") {
            return Ok(None);
        }
        if self.common.ends_with(".git") {
            return Ok(self.common.parent().map(Path::to_owned));
        }
        let git_dir = git_dir
            .canonicalize()
            .unwrap_or_else(|_| git_dir.to_owned());
        if git_dir == self.common {
            return Ok(Some(self.top.clone()));
        }
        // The git directory of a submodule is inside that of its superproject, and its
        // configuration names its checkout.
        let config = self.common.join("config");
        let words = words!["config", "--file", &config, "core.worktree"];
        let out = self.at(&self.common).status(words)?;
        let (Some(0), out, _) = out else {
            return Ok(None);
        };
        let named = self.common.join(text(&out).trim_end());
        Ok(named.canonicalize().ok())
    }

    /// Prepares a call of git in a directory.
    pub(crate) fn at<'a>(&'a self, directory: &'a Path) -> Call<'a> {
        self.git.at(directory)
    }

    /// Prepares a call of git that concerns the whole repository. The caller's checkout may be
    /// removed in the meantime, so it runs in the main checkout if there is one.
    pub(crate) fn common_git(&self) -> Call<'_> {
        let directory = match &self.main {
            Some(main) if main.is_dir() => main,
            // Most commands work in the shared git directory, which agents in worktrees cannot
            // write.
            _ if self.tree.is_some() || !self.top.is_dir() => &self.common,
            _ => &self.top,
        };
        self.git.at(directory)
    }

    /// Like [`Repository::common_git`], but in the caller's checkout if it is not a worktree of
    /// swarm, so that its settings apply.
    pub(crate) fn checkout_git(&self) -> Call<'_> {
        match self.tree {
            Some(_) => self.common_git(),
            None => self.at(&self.top),
        }
    }

    /// Returns the record of the worktree at a path, if there is one.
    pub(crate) fn recorded_at(&self, path: &Path) -> Result<Option<Record>> {
        let there = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_it = |record: &Record| {
            let named = record.path.canonicalize();
            named.unwrap_or_else(|_| record.path.clone()) == there
        };
        // Records need not be verified here: treating a checkout as a worktree only makes swarm
        // more careful.
        let records = Record::all_in(&self.records())?.0;
        Ok(records.into_iter().find(is_it))
    }

    /// Returns the path of the repository for messages.
    pub(crate) fn shown(&self) -> PathBuf {
        self.main.clone().unwrap_or_else(|| self.common.clone())
    }

    /// Lists the checkouts. Git fails while another git process is adding one, whose files exist
    /// before they are written; retries for a moment.
    fn checkouts(&self) -> Result<Vec<u8>, GitError> {
        let words = ["worktree", "list", "--porcelain", "-z"];
        for pause in RETRY_PAUSES {
            match self.common_git().run(&words) {
                Err(GitError::Failed { why, .. }) if why.contains("failed to read") => {
                    std::thread::park_timeout(Duration::from_millis(pause));
                }
                listed => return listed,
            }
        }
        self.common_git().run(&words)
    }

    /// Returns all registered checkouts, including deleted ones.
    pub(crate) fn registered(&self) -> Result<Vec<Registered>, GitError> {
        let out = self.checkouts()?;
        let mut all = Vec::new();
        for field in fields(&out) {
            if let Some(at) = field.strip_prefix(b"worktree ") {
                all.push(Registered {
                    path: path(at),
                    branch: None,
                });
            } else if let (Some(branch), Some(last)) =
                (field.strip_prefix(b"branch refs/heads/"), all.last_mut())
            {
                last.branch = Some(text(branch));
            }
        }
        Ok(all)
    }

    /// Returns whether a branch of this name exists.
    pub(crate) fn has_branch(&self, branch: &str) -> Result<bool, GitError> {
        self.has_ref(&format!("refs/heads/{branch}"))
    }

    fn has_ref(&self, name: &str) -> Result<bool, GitError> {
        self.common_git()
            .succeeds(&["show-ref", "--verify", "--quiet", name])
    }

    /// Returns the commit of a worktree's branch, or `None` if it does not exist.
    pub(crate) fn tip(&self, record: &Record) -> Result<Option<String>, GitError> {
        self.commit_of(&record.branch_ref())
    }

    /// Returns the commit of a ref, or `None` if it does not exist.
    pub(crate) fn commit_of(&self, name: &str) -> Result<Option<String>, GitError> {
        if !self.has_ref(name)? {
            return Ok(None);
        }
        let name = format!("{name}^{{commit}}");
        self.common_git()
            .line(&["rev-parse", "--verify", &name])
            .map(Some)
    }

    /// Returns swarm's directory in the shared git directory.
    pub(crate) fn own_directory(&self) -> PathBuf {
        self.common.join("swarm")
    }

    pub(crate) fn records(&self) -> PathBuf {
        records_of(&self.common)
    }

    /// Creates swarm's directories.
    pub(crate) fn create_own_directories(&self) -> Result<()> {
        Ok(ensure_private_dir(&self.records())?)
    }

    /// Returns the path of the lock on everything that all worktrees share.
    pub(crate) fn lock_path(&self) -> PathBuf {
        self.own_directory().join("lock")
    }

    /// Returns the path of the lock that a merge holds from its preparation to its end.
    pub(crate) fn merge_lock_path(&self) -> PathBuf {
        self.own_directory().join("merge.lock")
    }

    /// Returns the path of the lock on one worktree, for creating, removing it or changing its
    /// record.
    pub(crate) fn slug_lock_path(&self, slug: &Slug) -> PathBuf {
        self.records().join(format!("{}.lock", slug.directory()))
    }
}

pub(crate) fn unsuitable(repository: &Path, why: impl Into<String>) -> WorktreeError {
    let (repository, why) = (repository.display(), why.into());
    let what = format!("cannot create a worktree of {repository}: {why}");
    WorktreeError::Failed(ErrorKind::Refused, what)
}

/// Timeout of worktree locks. A large checkout takes seconds, a copy of its dependencies a minute.
pub(crate) const LOCK_WAIT: Duration = Duration::from_mins(3);
