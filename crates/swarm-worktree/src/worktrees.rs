//! The door to everything that is done with worktrees.

use std::path::Path;

use swarm_fs::HandedLock;
use swarm_protocol::UnixMs;

use crate::create::{LOCK_WAIT, create};
use crate::heads::seen;
use crate::list::describe;
use crate::remove::{hand_back, remove};
use crate::repository::Repository;
use crate::{
    Condition, Created, Git, Listed, Merged, Parting, Record, Removed, Request, Slug,
    WorktreeError, WorktreeSettings, merge, recover,
};

/// Makes, lists, merges and removes the worktrees of swarm.
#[derive(Debug, Clone)]
pub struct Worktrees {
    git: Git,
    settings: WorktreeSettings,
}

impl Worktrees {
    /// With this git and these settings.
    pub fn new(git: Git, settings: WorktreeSettings) -> Self {
        Self { git, settings }
    }

    /// How worktrees are made.
    pub fn settings(&self) -> &WorktreeSettings {
        &self.settings
    }

    /// Makes a worktree, or takes one up that is there and that nobody works in. On any failure branch, folder and
    /// registration are as they were.
    ///
    /// # Errors
    /// [`WorktreeError`] saying what is in the way.
    pub fn create(&self, request: &Request) -> Result<Created, WorktreeError> {
        create(&self.git, &self.settings, request)
    }

    /// Takes back what [`Worktrees::create`] did, because whoever was to work in it never began.
    ///
    /// # Errors
    /// [`WorktreeError`] if it could not be undone; it is then listed by [`Worktrees::list`].
    pub fn undo(&self, created: &Created) -> Result<(), WorktreeError> {
        let repository = Repository::find(&self.git, &created.record.from)?;
        let slug = &created.record.slug;
        let lock = HandedLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
        let Some(mut record) = Record::load(&repository, slug)? else {
            return Ok(());
        };
        if record.owner != created.record.owner {
            // Somebody else has taken it up since.
            return Ok(());
        }
        hand_back(&repository, &mut record)?;
        let untouched = created.fresh && crate::hazard::hazards(&repository, &record).is_empty();
        if untouched {
            recover::undo(&repository, &record)?;
            lock.retire();
        }
        Ok(())
    }

    /// Nobody works in a worktree any more; it stays as it is.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn release(&self, created: &Created) -> Result<(), WorktreeError> {
        let repository = Repository::find(&self.git, &created.record.from)?;
        match Record::load(&repository, &created.record.slug)? {
            Some(mut record) => hand_back(&repository, &mut record),
            None => Ok(()),
        }
    }

    /// From now on the owner's life lock alone tells whether the worktree is in use, and not the process that started it.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn settle(&self, created: &Created) -> Result<(), WorktreeError> {
        let repository = Repository::find(&self.git, &created.record.path)?;
        let Some(mut record) = Record::load(&repository, &created.record.slug)? else {
            return Ok(());
        };
        record.process = None;
        record.save(&repository)
    }

    /// The worktree of swarm that a folder is in; `None` if it is in none.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be read.
    pub fn find(&self, folder: &Path) -> Result<Option<Record>, WorktreeError> {
        let Some(seen) = seen(folder) else {
            return Ok(None);
        };
        if seen.git_dir == seen.common_dir {
            return Ok(None);
        }
        let repository = Repository::find(&self.git, &seen.toplevel)?;
        let (records, _) = Record::all(&repository)?;
        let is_it = |record: &Record| {
            record
                .path
                .canonicalize()
                .is_ok_and(|path| path == seen.toplevel)
        };
        Ok(records.into_iter().find(is_it))
    }

    /// The end of whoever worked in a worktree: it is removed with its branch if it holds nothing that is not elsewhere,
    /// and kept otherwise.
    ///
    /// # Errors
    /// [`WorktreeError`] when it is not there, or could not be removed.
    pub fn part(&self, path: &Path, now: UnixMs) -> Result<Option<Parting>, WorktreeError> {
        let Some(mut record) = self.find(path)? else {
            return Ok(None);
        };
        // Its own folder may be gone in a moment.
        let mut repository = Repository::find(&self.git, path)?;
        if let Some(main) = &repository.main {
            repository.top.clone_from(main);
        }
        hand_back(&repository, &mut record)?;
        match remove(&repository, &record.slug, false, now) {
            Ok(removed) => Ok(Some(Parting::Removed(removed))),
            Err(WorktreeError::Unsafe { hazards, .. }) => Ok(Some(Parting::Kept {
                slug: record.slug,
                path: record.path,
                branch: record.branch,
                why: hazards,
            })),
            Err(error) => Err(error),
        }
    }

    /// The worktrees of the repository that a folder is in, and what is wrong with records that cannot be read.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository.
    pub fn list(&self, folder: &Path) -> Result<(Vec<Listed>, Vec<WorktreeError>), WorktreeError> {
        let repository = Repository::find(&self.git, folder)?;
        let (records, damaged) = Record::all(&repository)?;
        let listed = records
            .into_iter()
            .map(|record| describe(&repository, record));
        Ok((listed.collect(), damaged))
    }

    /// Removes a worktree with its branch. What speaks against it is an error; with `force` it is saved first.
    ///
    /// # Errors
    /// [`WorktreeError::Unsafe`] with everything that would be lost.
    pub fn remove(
        &self,
        folder: &Path,
        slug: &Slug,
        force: bool,
        now: UnixMs,
    ) -> Result<Removed, WorktreeError> {
        let repository = Repository::find(&self.git, folder)?;
        remove(&repository, slug, force, now)
    }

    /// Removes the worktrees that hold nothing which is not elsewhere, and takes away what was half made. With `dry` it
    /// only tells which. Returns those, and those that are kept.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository, or one could not be removed.
    pub fn prune(
        &self,
        folder: &Path,
        dry: bool,
        now: UnixMs,
    ) -> Result<(Vec<Listed>, Vec<Listed>), WorktreeError> {
        let repository = Repository::find(&self.git, folder)?;
        let (records, _) = Record::all(&repository)?;
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        for record in records {
            let listed = describe(&repository, record);
            let is_free = match listed.condition {
                Condition::Clean | Condition::Gone => listed.hazards.is_empty(),
                Condition::HalfMade => {
                    let lock = repository.slug_lock_path(&listed.record.slug);
                    HandedLock::try_take(&lock)?.is_some()
                }
                _ => false,
            };
            if !is_free {
                kept.push(listed);
                continue;
            }
            if !dry {
                match remove(&repository, &listed.record.slug, false, now) {
                    // Somebody took it up, or worked in it, in between.
                    Err(WorktreeError::Unsafe { .. } | WorktreeError::NotFound { .. }) => {
                        kept.push(listed);
                        continue;
                    }
                    done => done.map(drop)?,
                }
            }
            gone.push(listed);
        }
        Ok((gone, kept))
    }

    /// Merges a worktree's branch into the branch that it was made from. One at a time, however many ask.
    ///
    /// # Errors
    /// [`WorktreeError::Conflict`] with the files; the target is as it was then, as with every error.
    pub fn merge(&self, folder: &Path, slug: &Slug) -> Result<Merged, WorktreeError> {
        let repository = Repository::find(&self.git, folder)?;
        let record = Record::load(&repository, slug)?.ok_or_else(|| WorktreeError::NotFound {
            slug: slug.to_string(),
            repository: repository.shown(),
        })?;
        merge::merge(&repository, &record)
    }
}
