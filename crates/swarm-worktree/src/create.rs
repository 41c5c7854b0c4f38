//! Creates worktrees, or reuses existing ones.

use std::path::PathBuf;

use swarm_os::{InheritableLock, WORKTREES_DIRECTORY, replace_alone};
use swarm_protocol::{UnixMs, word_list};
use tokio_util::sync::CancellationToken;

use crate::git::words;
use crate::heads::look_at;
use crate::record::short;
use crate::registration::{self, check};
use crate::registry::WorktreeRegistry;
use crate::repository::{LOCK_WAIT, Repository, unsuitable};
use crate::view::Checkout;
use crate::{
    Base, Git, Owner, ProcessMark, Record, Result, Slug, Stage, Uncommitted, WorktreeError,
    WorktreeSettings, carry, place, recover, snapshot, temporary, usage,
};

/// A request for a worktree.
#[derive(Debug, Clone)]
pub struct Request {
    /// The caller's directory. The worktree belongs to the repository that contains it.
    pub from: PathBuf,
    /// Name of the worktree.
    pub slug: Slug,
    /// Owner of the worktree.
    pub owner: Owner,
    /// The process that works in it, or starts the one that will.
    pub process: ProcessMark,
    /// Handling of uncommitted changes; `None` for that of the settings.
    pub uncommitted: Option<Uncommitted>,
    /// The present time.
    pub now: UnixMs,
    /// Triggered when the caller no longer waits. Stops operations of unlimited duration; the
    /// others complete, and the caller undoes their result.
    pub cancel: CancellationToken,
}

/// A worktree that is ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The record.
    pub record: Record,
    /// Whether it was newly created; otherwise it already existed.
    pub fresh: bool,
    /// The directory in the worktree that corresponds to the caller's directory.
    pub cwd: PathBuf,
    /// The checked-out branch.
    pub branch: Option<String>,
    /// The checked-out commit.
    pub head: String,
    /// Notices for the agent.
    pub notices: Vec<String>,
}

pub(crate) fn create(
    git: &Git,
    registry: &WorktreeRegistry,
    settings: &WorktreeSettings,
    request: &Request,
) -> Result<Created> {
    let repository = Repository::find(git, registry, &request.from)?;
    if repository.common.join("reftable").is_dir() {
        let why = "its refs are stored as reftable, which swarm cannot read; convert them with `git refs migrate --ref-format=files`";
        return Err(unsuitable(&repository.shown(), why));
    }
    let path = place::directory(&repository, settings)?.join(request.slug.directory());
    repository.create_own_directories()?;
    recover::half_made(&repository, Some(&request.slug))?;
    temporary::clear(&repository);
    let lock = InheritableLock::take(&repository.slug_lock_path(&request.slug), LOCK_WAIT)?;
    let creation = Creation {
        repository: &repository,
        settings,
        request,
        path,
        lock: &lock,
    };
    let made = creation.reuse_or_create();
    if made.is_err() && Record::load(&repository, &request.slug)?.is_none() {
        lock.retire();
    }
    made
}

struct Creation<'a> {
    repository: &'a Repository,
    settings: &'a WorktreeSettings,
    request: &'a Request,
    path: PathBuf,
    lock: &'a InheritableLock,
}

impl Creation<'_> {
    fn reuse_or_create(&self) -> Result<Created> {
        let there = Record::load(self.repository, &self.request.slug)?;
        match there {
            Some(record) if record.stage == Stage::Making => {
                // This process holds its lock, so the creator and all its programs have exited.
                recover::undo(self.repository, &record)?;
            }
            Some(record) if record.path.symlink_metadata().is_ok() => return self.reuse(record),
            Some(record) => self.forget_missing(&record)?,
            None => {}
        }
        self.make()
    }

    /// Reuses an existing worktree. Reads its files without running git.
    fn reuse(&self, mut record: Record) -> Result<Created> {
        let user = usage::user_of(&record, &self.repository.registry.occupants);
        WorktreeError::require_free(&self.request.slug, user)?;
        let seen = check(self.repository, &record)?;
        let head = seen.head.clone().ok_or_else(|| WorktreeError::Mismatch {
            path: record.path.clone(),
            why: "its commit cannot be determined".to_owned(),
        })?;
        let same = record.owner.is_same_agent(&self.request.owner);
        if !same && seen.branch.as_ref() != Some(&record.branch) {
            let now = seen.branch.as_deref().unwrap_or("no branch");
            let why = format!(
                "it is on {now} instead of {}; check out that branch there, or choose another name",
                record.branch
            );
            return Err(self.blocked(&why));
        }
        record.owner = self.request.owner.clone();
        record.process = Some(self.request.process.clone());
        record.in_use = true;
        let locked = seen.git_dir.join("locked");
        replace_alone(&locked, record.lock_reason().as_bytes())?;
        record.save(self.repository)?;
        let mut notices = vec![format!(
            "{} already existed, with its previous work; it is based on {}",
            record.path.display(),
            record.base.describe()
        )];
        let here = look_at(&self.repository.top).and_then(|seen| seen.head);
        if let Some(here) = here.filter(|here| *here != record.base.sha && *here != head) {
            notices.push(format!(
                "your HEAD is {} now: the worktree may lack newer commits",
                short(&here)
            ));
        }
        Ok(self.created(record, false, seen.branch, head, notices))
    }

    /// Removes the record of a worktree whose directory was deleted, unless its branch has unmerged
    /// commits.
    fn forget_missing(&self, record: &Record) -> Result<()> {
        let lost = recover::unmerged_commits(self.repository, record)?;
        if lost > 0 {
            let why = format!(
                "its directory was deleted and its branch {} has {lost} commits that no other branch has; merge it, or delete it with `git branch -D {}`",
                record.branch, record.branch
            );
            return Err(self.blocked(&why));
        }
        recover::forget(self.repository, record)
    }

    fn make(&self) -> Result<Created> {
        let mut base = Base::of_checkout(self.repository)?;
        let target = base.branch.clone();
        let mut notices = self.uncommitted(&mut base)?;
        let request = self.request;
        let (from, owner) = (self.repository.top.clone(), request.owner.clone());
        let mut record = Record {
            path: self.path.clone(),
            branch: request.slug.branch(),
            base,
            target,
            stage: Stage::Making,
            process: Some(request.process.clone()),
            ..Record::new(request.slug.clone(), from, owner, request.now)
        };
        self.add(&record)?;
        let noted = registration::note(self.repository, &mut record);
        let filled = noted.and_then(|()| self.fill(&mut record));
        let seen = filled.and_then(|()| {
            record.stage = Stage::Ready;
            record.notices.splice(0..0, notices.drain(..));
            let seen = check(self.repository, &record)?;
            let as_made = seen.branch.as_ref() == Some(&record.branch)
                && seen.head.as_ref() == Some(&record.base.sha);
            if !as_made {
                return Err(WorktreeError::Mismatch {
                    path: record.path.clone(),
                    why: format!("it is not at {} on {}", record.base.sha, record.branch),
                });
            }
            record.save(self.repository)?;
            Ok(seen)
        });
        match seen {
            Ok(seen) => {
                let (head, notices) = (record.base.sha.clone(), record.notices.clone());
                Ok(self.created(record, true, seen.branch, head, notices))
            }
            Err(error) => {
                recover::undo(self.repository, &record)?;
                Err(error)
            }
        }
    }

    /// Handles uncommitted changes of the caller's checkout.
    fn uncommitted(&self, base: &mut Base) -> Result<Vec<String>> {
        let top = &self.repository.top;
        let files =
            Checkout::at(self.repository, top)?.changed_files("--untracked-files=normal")?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = self
            .request
            .uncommitted
            .unwrap_or(self.settings.uncommitted);
        match wanted {
            Uncommitted::Refuse => Err(WorktreeError::Uncommitted {
                checkout: top.clone(),
                files,
            }),
            Uncommitted::Leave => Ok(vec![format!(
                "uncommitted changes were not copied: {}",
                crate::hazard::named(&files)
            )]),
            Uncommitted::Snapshot => {
                if snapshot::has_conflicts(self.repository, top)? {
                    let why = "it has a merge with unresolved conflicts; complete or abort it";
                    return Err(unsuitable(top, why));
                }
                let tree = snapshot::tree(self.repository, top, &[])?;
                let message = format!(
                    "Uncommitted changes that {} is based on",
                    self.request.slug.branch()
                );
                let commit = snapshot::commit(self.repository, &tree, &[&base.sha], &message)?;
                base.snapshot_of = Some(std::mem::replace(&mut base.sha, commit));
                Ok(Vec::new())
            }
        }
    }

    /// Registers the empty worktree with git under the lock of the repository, because git writes
    /// shared files.
    fn add(&self, record: &Record) -> Result<()> {
        let (repository, path) = (self.repository, &record.path);
        let lock = InheritableLock::take(&repository.lock_path(), LOCK_WAIT)?;
        if path.symlink_metadata().is_ok() {
            let why = format!(
                "{} already exists and is not a worktree of swarm; move it, or choose another name",
                path.display()
            );
            return Err(self.blocked(&why));
        }
        if repository.has_branch(&record.branch)? {
            let why = format!(
                "the branch {} already exists; delete it, or choose another name",
                record.branch
            );
            return Err(self.blocked(&why));
        }
        let outer = path.parent().unwrap_or(path);
        std::fs::create_dir_all(outer).map_err(WorktreeError::at(outer))?;
        place::exclude(repository, outer)?;
        if !outer.ends_with(WORKTREES_DIRECTORY) {
            repository.registry.add(outer, &repository.common)?;
        }
        if record.base.snapshot_of.is_some() {
            let name = recover::snapshot_ref(&record.slug);
            let at = repository.common_git().changing().under(&lock);
            at.run(&["update-ref", &name, &record.base.sha])?;
        }
        record.save(repository)?;
        let added = self.register(record, &lock);
        drop(lock);
        if let Err(error) = added {
            recover::undo(repository, record)?;
            return Err(error);
        }
        Ok(())
    }

    fn register(&self, record: &Record, lock: &InheritableLock) -> Result<()> {
        let reason = record.lock_reason();
        let at = self.repository.checkout_git();
        let (path, branch, sha) = (&record.path, &record.branch, &record.base.sha);
        // Tracking would write to the configuration, whose lock git does not wait for.
        let mut words = words!["worktree", "add", "--no-track", "--no-checkout"].to_vec();
        words.extend(words![
            "--lock", "--reason", &reason, "-b", branch, "--", path, sha
        ]);
        at.changing().under(lock).run(&words)?;
        if !self.settings.sparse_paths.is_empty() {
            // Also writes to the configuration.
            let mut words = vec!["sparse-checkout", "set", "--cone", "--"];
            words.extend(self.settings.sparse_paths.iter().map(String::as_str));
            let at = self.repository.at(&record.path);
            at.changing().under(lock).run(&words)?;
        }
        Ok(())
    }

    /// Checks out the files and copies untracked ones. Writes to this worktree only, so several can
    /// be filled concurrently.
    fn fill(&self, record: &mut Record) -> Result<()> {
        let at = self.repository.at(&record.path);
        at.changing()
            .under(self.lock)
            .run(&const { word_list::<4>("reset --hard --quiet --no-recurse-submodules") })?;
        carry::copy_untracked(self.repository, self.settings, record)
    }

    fn created(
        &self,
        record: Record,
        fresh: bool,
        branch: Option<String>,
        head: String,
        notices: Vec<String>,
    ) -> Created {
        let below = record.path.join(&self.repository.below);
        let cwd = if below.is_dir() {
            below
        } else {
            record.path.clone()
        };
        Created {
            cwd: cwd.components().collect(),
            record,
            fresh,
            branch,
            head,
            notices,
        }
    }

    fn blocked(&self, why: &str) -> WorktreeError {
        WorktreeError::in_the_way(&self.request.slug, why)
    }
}
