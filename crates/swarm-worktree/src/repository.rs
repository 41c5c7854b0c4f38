//! The repository that a directory belongs to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_os::ensure_private_dir;

use crate::git::{Call, fields, path, text};
use crate::places::Places;
use crate::record::records_of;
use crate::{Git, GitError, Record, Slug, WorktreeError};

/// Waits for a checkout that git is just adding, in milliseconds. Nothing tells when it is there.
const HALF_ADDED: [u64; 6] = [2, 5, 10, 50, 200, 500];

/// A repository, seen from one of its checkouts.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    pub(crate) git: Git,
    /// Where worktrees lie outside of main checkouts.
    pub(crate) places: Places,
    /// The uppermost directory of the caller's checkout.
    pub(crate) top: PathBuf,
    /// Where the caller is below that, empty for the uppermost directory itself.
    pub(crate) below: PathBuf,
    /// Git's directory for all checkouts.
    pub(crate) common: PathBuf,
    /// The main checkout; a bare repository has none.
    pub(crate) main: Option<PathBuf>,
    /// The worktree of swarm that the caller's checkout is, if it is one.
    pub(crate) tree: Option<Record>,
}

/// A checkout that git knows of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registered {
    pub(crate) path: PathBuf,
    pub(crate) branch: Option<String>,
}

impl Repository {
    /// The main checkout, as seen from one whose own directory in git is `git_dir`.
    pub(crate) fn main_checkout(&self, git_dir: &Path) -> Result<Option<PathBuf>, WorktreeError> {
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
        // A submodule's directory lies in its superproject's, and its configuration says where its checkout is.
        let config = self.common.join("config");
        let out = self.at(&self.common).status(&[
            "config".as_ref(),
            "--file".as_ref(),
            config.as_os_str(),
            "core.worktree".as_ref(),
        ])?;
        let (Some(0), out, _) = out else {
            return Ok(None);
        };
        let named = self.common.join(text(&out).trim_end());
        Ok(named.canonicalize().ok())
    }

    /// A call of git in a directory.
    pub(crate) fn at<'a>(&'a self, directory: &'a Path) -> Call<'a> {
        self.git.at(directory)
    }

    /// A call of git that speaks of the repository as a whole. The caller's checkout may be removed meanwhile, so it runs
    /// in the main one where there is one.
    pub(crate) fn common_git(&self) -> Call<'_> {
        let directory = match &self.main {
            Some(main) if main.is_dir() => main,
            // In git's own directory most commands work, and nobody who works in a worktree has written what it says.
            _ if self.tree.is_some() || !self.top.is_dir() => &self.common,
            _ => &self.top,
        };
        self.git.at(directory)
    }

    /// The same, in a person's own checkout if that is the caller's: what git takes over from there it shall take over.
    pub(crate) fn checkout_git(&self) -> Call<'_> {
        match self.tree {
            Some(_) => self.common_git(),
            None => self.at(&self.top),
        }
    }

    /// The worktree of swarm at a path, if there is one.
    pub(crate) fn recorded_at(&self, path: &Path) -> Result<Option<Record>, WorktreeError> {
        let there = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_it = |record: &Record| {
            let named = record.path.canonicalize();
            named.unwrap_or_else(|_| record.path.clone()) == there
        };
        // Any record will do: what is taken for a worktree is treated with more care.
        let records = Record::all_in(&self.records())?.0;
        Ok(records.into_iter().find(is_it))
    }

    /// What people call the repository.
    pub(crate) fn shown(&self) -> PathBuf {
        self.main.clone().unwrap_or_else(|| self.common.clone())
    }

    /// What git lists as checkouts. It gives up over one that another git is just adding, whose files are there before what
    /// stands in them; they are whole a moment later.
    fn checkouts(&self) -> Result<Vec<u8>, GitError> {
        let words = ["worktree", "list", "--porcelain", "-z"];
        for pause in HALF_ADDED {
            match self.common_git().run(&words) {
                Err(GitError::Failed { why, .. }) if why.contains("failed to read") => {
                    std::thread::park_timeout(Duration::from_millis(pause));
                }
                listed => return listed,
            }
        }
        self.common_git().run(&words)
    }

    /// Every checkout that git knows of, gone ones included.
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

    /// Whether there is a branch of this name.
    pub(crate) fn has_branch(&self, branch: &str) -> Result<bool, GitError> {
        let name = format!("refs/heads/{branch}");
        self.common_git()
            .asks(&["show-ref", "--verify", "--quiet", &name])
    }

    /// The commit that a branch points to; `None` when there is no such branch.
    pub(crate) fn tip(&self, branch: &str) -> Result<Option<String>, GitError> {
        if !self.has_branch(branch)? {
            return Ok(None);
        }
        let name = format!("refs/heads/{branch}^{{commit}}");
        self.common_git()
            .line(&["rev-parse", "--verify", &name])
            .map(Some)
    }

    /// swarm's own directory beside git's.
    pub(crate) fn own_directory(&self) -> PathBuf {
        self.common.join("swarm")
    }

    /// The records of the worktrees.
    pub(crate) fn records(&self) -> PathBuf {
        records_of(&self.common)
    }

    /// Makes swarm's own directories.
    pub(crate) fn make_own_directories(&self) -> Result<(), WorktreeError> {
        Ok(ensure_private_dir(&self.records())?)
    }

    /// The lock on what all worktrees of the repository share.
    pub(crate) fn lock_path(&self) -> PathBuf {
        self.own_directory().join("lock")
    }

    /// The lock on one worktree: whoever makes or removes it, or changes its record.
    pub(crate) fn slug_lock_path(&self, slug: &Slug) -> PathBuf {
        self.records().join(format!("{}.lock", slug.directory()))
    }
}

pub(crate) fn unsuitable(repository: &Path, why: impl Into<String>) -> WorktreeError {
    WorktreeError::Unsuitable {
        repository: repository.to_owned(),
        why: why.into(),
    }
}

/// How long another one that makes, removes or merges is waited for. A large checkout takes seconds, a copy of its
/// dependencies a minute.
pub(crate) const LOCK_WAIT: Duration = Duration::from_mins(3);
