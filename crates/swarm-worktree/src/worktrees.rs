//! The door to everything that is done with worktrees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::HandedLock;
use swarm_protocol::UnixMs;

use crate::anchor::anchored;
use crate::by_hook::ByHook;
use crate::create::create;
use crate::list::describe;
use crate::places::Places;
use crate::registration::check;
use crate::remove::{hand_back, let_git_go, part, remove};
use crate::repository::{LOCK_WAIT, Repository};
use crate::{
    Condition, Created, DirectoryMaker, Git, Leaver, ListedWorktree, Merged, Occupants,
    ProcessMark, Pruned, Record, RemovedWorktree, Request, Slug, Stage, WorktreeError,
    WorktreeOutcome, WorktreeSettings, merge, recover,
};

/// Makes, lists, merges and removes the worktrees of swarm.
#[derive(Debug, Clone)]
pub struct Worktrees {
    git: Git,
    own: PathBuf,
    places: Places,
    settings: WorktreeSettings,
    by_hook: Option<ByHook>,
}

impl Worktrees {
    /// With this git, these settings, and the directory where swarm keeps what it knows of worktrees that lie in no main
    /// checkout. Nobody who works in a worktree may be able to write there.
    pub fn new(git: Git, settings: WorktreeSettings, own: PathBuf) -> Self {
        Self {
            git,
            places: Places::below(&own),
            own,
            settings,
            by_hook: None,
        }
    }

    /// With somebody who makes directories in git's place.
    #[must_use]
    pub fn with_maker(mut self, maker: Arc<dyn DirectoryMaker>) -> Self {
        let mut by_hook = ByHook::new(maker, self.own.clone());
        by_hook.occupants = self.places.occupants.clone();
        self.by_hook = Some(by_hook);
        self
    }

    /// With somebody who knows which members and leads are running, and where.
    #[must_use]
    pub fn with_occupants(mut self, occupants: Occupants) -> Self {
        if let Some(by_hook) = &mut self.by_hook {
            by_hook.occupants = occupants.clone();
        }
        self.places.occupants = occupants;
        self
    }

    /// Who has made what this record speaks of, if it was not git.
    fn hook_of(&self, record: &Record) -> Option<&ByHook> {
        self.by_hook.as_ref().filter(|_| record.by_hook)
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// How worktrees are made.
    pub fn settings(&self) -> &WorktreeSettings {
        &self.settings
    }

    /// Makes a worktree, or takes one up that is there and that nobody works in. On any failure branch, directory and
    /// registration are as they were.
    ///
    /// # Errors
    /// [`WorktreeError`] saying what is in the way.
    pub fn create(&self, request: &Request) -> Result<Created, WorktreeError> {
        match &self.by_hook {
            Some(by_hook) if by_hook.makes() => by_hook.create(request),
            _ => create(&self.git, &self.places, &self.settings, request),
        }
    }

    /// Takes back what [`Worktrees::create`] did, because whoever was to work in it never began. Nothing happens where
    /// somebody else has taken it up since.
    ///
    /// # Errors
    /// [`WorktreeError`] if it could not be undone; it is then listed by [`Worktrees::list`].
    pub fn undo(&self, created: &Created) -> Result<(), WorktreeError> {
        if let Some(by_hook) = self.hook_of(&created.record) {
            return by_hook.undo(created);
        }
        let repository = Repository::find(&self.git, &self.places, &created.record.from)?;
        let slug = &created.record.slug;
        let lock = HandedLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
        let Some(mut record) = Record::load(&repository, slug)? else {
            return Ok(());
        };
        if !record.is_still_of(&created.record.leaver()) {
            return Ok(());
        }
        record.hand_back();
        record.save(&repository)?;
        let_git_go(&repository, &record);
        let untouched = created.fresh && crate::inspect::hazards(&repository, &record).is_empty();
        if untouched {
            recover::undo(&repository, &record)?;
            lock.retire();
        }
        Ok(())
    }

    /// Whoever was given a worktree works in it no more; it stays as it is. Nothing happens where somebody else has taken
    /// it up since.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn release(&self, created: &Created) -> Result<(), WorktreeError> {
        if let Some(by_hook) = self.hook_of(&created.record) {
            return by_hook.release(&created.record);
        }
        let repository = Repository::find(&self.git, &self.places, &created.record.from)?;
        hand_back(&repository, &created.record.slug, &created.record.leaver())
    }

    /// Whoever was given a worktree works in it still, though it was handed back. Nothing happens where somebody else has
    /// taken it up since.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn hold(&self, created: &Created) -> Result<(), WorktreeError> {
        if let Some(by_hook) = self.hook_of(&created.record) {
            return by_hook.hold(created);
        }
        let repository = Repository::find(&self.git, &self.places, &created.record.from)?;
        let held = Record::change(&repository, &created.record.slug, |record| {
            let is_free = !record.in_use;
            if is_free {
                record.in_use = true;
                record.owner.clone_from(&created.record.owner);
                record.process.clone_from(&created.record.process);
            }
            is_free
        });
        held.map(drop)
    }

    /// Takes up a worktree whose holder has ended, for a process that continues its work. Others may work in it, too.
    ///
    /// # Errors
    /// [`WorktreeError::Taken`] while the holder is running, and whatever is wrong with the worktree.
    pub fn take_over(
        &self,
        given: &Record,
        process: ProcessMark,
    ) -> Result<Created, WorktreeError> {
        if let Some(by_hook) = self.hook_of(given) {
            return by_hook.take_over(given, process);
        }
        let repository = Repository::find(&self.git, &self.places, &given.from)?;
        let _lock = HandedLock::take(&repository.slug_lock_path(&given.slug), LOCK_WAIT)?;
        let found = Record::load(&repository, &given.slug)?;
        let mut record = found.ok_or_else(|| WorktreeError::NotFound {
            slug: given.slug.to_string(),
            repository: given.from.clone(),
        })?;
        let seen = check(&repository, &record)?;
        record.hand_over(process)?;
        record.save(&repository)?;
        Ok(Created {
            cwd: record.path.clone(),
            branch: seen.branch,
            head: seen.head.unwrap_or_default(),
            record,
            fresh: false,
            notices: Vec::new(),
        })
    }

    /// From now on the owner's life lock alone tells whether the worktree is in use, and not the process that started it.
    /// Nothing happens where somebody else has taken it up since.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn settle(&self, created: &Created) -> Result<(), WorktreeError> {
        if let Some(by_hook) = self.hook_of(&created.record) {
            return by_hook.settle(&created.record);
        }
        let repository = Repository::find(&self.git, &self.places, &created.record.from)?;
        let settled = Record::change(&repository, &created.record.slug, |record| {
            let is_theirs = record.is_still_of(&created.record.leaver());
            if is_theirs {
                record.process = None;
            }
            is_theirs
        });
        settled.map(drop)
    }

    /// The worktree of swarm that a directory is in; `None` if it is in none.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be read.
    pub fn find(&self, directory: &Path) -> Result<Option<Record>, WorktreeError> {
        if let Some(by_hook) = &self.by_hook
            && let Some(record) = by_hook.find(directory)?
        {
            return Ok(Some(record));
        }
        Ok(anchored(&self.places, directory)?.map(|anchored| anchored.record))
    }

    /// The worktree that a directory is in, if it belongs to the repository around `origin`.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository around `origin`, or the record cannot be read.
    pub fn find_beside(
        &self,
        origin: &Path,
        directory: &Path,
    ) -> Result<Option<Record>, WorktreeError> {
        if let Some(by_hook) = &self.by_hook
            && let Some(record) = by_hook.find_beside(origin, directory)?
        {
            return Ok(Some(record));
        }
        let repository = Repository::find(&self.git, &self.places, origin)?;
        let found = anchored(&self.places, directory)?
            .filter(|anchored| anchored.common == repository.common);
        Ok(found.map(|anchored| anchored.record))
    }

    /// The end of whoever worked in a worktree: it is removed with its branch if it holds nothing that is not elsewhere,
    /// and kept otherwise. `None` where it is none of swarm's, or another agent has it by now.
    ///
    /// # Errors
    /// [`WorktreeError`] when it is not there, or could not be removed.
    pub fn part(
        &self,
        path: &Path,
        leaver: &Leaver,
        now: UnixMs,
    ) -> Result<Option<WorktreeOutcome>, WorktreeError> {
        if let Some(by_hook) = &self.by_hook
            && let Some(record) = by_hook.find(path)?
        {
            return by_hook.part(&record, leaver);
        }
        let Some(anchored) = anchored(&self.places, path)? else {
            return Ok(None);
        };
        let slug = anchored.record.slug.clone();
        // Its own directory may be gone in a moment.
        let mut repository = Repository::of_worktree(&self.git, &self.places, anchored)?;
        if let Some(main) = &repository.main {
            repository.top.clone_from(main);
        }
        part(&repository, &slug, leaver, now)
    }

    /// The worktrees of the repository that a directory is in, and what is wrong with records that cannot be read.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository.
    pub fn list(
        &self,
        directory: &Path,
    ) -> Result<(Vec<ListedWorktree>, Vec<WorktreeError>), WorktreeError> {
        let (mut made, mut wrong) = self.made_by_hook(directory)?;
        let repository = match Repository::find(&self.git, &self.places, directory) {
            // Hooks work in directories of any kind.
            Err(WorktreeError::NoRepository { .. }) if self.works_without_git(&made) => {
                return Ok((made, wrong));
            }
            found => found?,
        };
        let (records, damaged) = Record::all(&repository)?;
        let listed = records
            .into_iter()
            .map(|record| describe(&repository, record));
        made.splice(0..0, listed);
        wrong.extend(damaged);
        Ok((made, wrong))
    }

    /// The worktrees of the repository around a directory that a process was given and has neither handed on nor handed back.
    /// None where there is no repository.
    ///
    /// # Errors
    /// [`WorktreeError`] if the repository cannot be looked at.
    pub fn held_by(
        &self,
        directory: &Path,
        process: &ProcessMark,
    ) -> Result<Vec<Record>, WorktreeError> {
        let (made, _) = self.made_by_hook(directory)?;
        let mut records: Vec<_> = made.into_iter().map(|listed| listed.record).collect();
        match Repository::find(&self.git, &self.places, directory) {
            Err(WorktreeError::NoRepository { .. }) => {}
            found => records.extend(Record::all(&found?)?.0),
        }
        records.retain(|record| {
            record.in_use
                && record.stage == Stage::Ready
                && record.process.as_ref() == Some(process)
        });
        Ok(records)
    }

    /// Removes a worktree with its branch. What speaks against it is an error; with `force` it is saved first.
    ///
    /// # Errors
    /// [`WorktreeError::Unsafe`] with everything that would be lost.
    pub fn remove(
        &self,
        directory: &Path,
        slug: &Slug,
        force: bool,
        now: UnixMs,
    ) -> Result<RemovedWorktree, WorktreeError> {
        if let Some(by_hook) = &self.by_hook
            && let Some(removed) = by_hook.remove(directory, slug, force)?
        {
            return Ok(removed);
        }
        let repository = Repository::find(&self.git, &self.places, directory)?;
        remove(&repository, slug, force, now)
    }

    /// What hooks have made for the project of a directory.
    fn made_by_hook(
        &self,
        directory: &Path,
    ) -> Result<(Vec<ListedWorktree>, Vec<WorktreeError>), WorktreeError> {
        let by_hook = self.by_hook.as_ref();
        by_hook.map_or(Ok(<_>::default()), |by_hook| by_hook.list(directory))
    }

    fn works_without_git(&self, made: &[ListedWorktree]) -> bool {
        !made.is_empty() || self.by_hook.as_ref().is_some_and(ByHook::makes)
    }

    /// Removes the worktrees that hold nothing which is not elsewhere, and takes away what was half made. With `dry` it
    /// only tells which. One that cannot be removed does not stop it.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository, or its records cannot be read.
    pub fn prune(&self, directory: &Path, dry: bool, now: UnixMs) -> Result<Pruned, WorktreeError> {
        let mut pruned = Pruned::default();
        for listed in self.made_by_hook(directory)?.0 {
            let is_free = listed.condition == Condition::Gone;
            tidy(&mut pruned, listed, Ok(is_free), dry, |slug| {
                self.remove(directory, slug, false, now)
            });
        }
        let repository = match Repository::find(&self.git, &self.places, directory) {
            Err(WorktreeError::NoRepository { .. })
                if self.works_without_git(&pruned.kept)
                    || !pruned.gone.is_empty()
                    || !pruned.failed.is_empty() =>
            {
                return Ok(pruned);
            }
            found => found?,
        };
        let (records, _) = Record::all(&repository)?;
        for record in records {
            let listed = describe(&repository, record);
            let is_free = match listed.condition {
                Condition::Clean | Condition::Gone => Ok(listed.hazards.is_empty()),
                Condition::HalfMade => {
                    let lock = repository.slug_lock_path(&listed.record.slug);
                    HandedLock::try_take(&lock).map(|free| free.is_some())
                }
                _ => Ok(false),
            };
            tidy(
                &mut pruned,
                listed,
                is_free.map_err(WorktreeError::from),
                dry,
                |slug| remove(&repository, slug, false, now),
            );
        }
        Ok(pruned)
    }

    /// Merges a worktree's branch into the branch that it was made from. One at a time, however many ask.
    ///
    /// # Errors
    /// [`WorktreeError::Conflict`] with the files; the target is as it was then, as with every error.
    pub fn merge(&self, directory: &Path, slug: &Slug) -> Result<Merged, WorktreeError> {
        let made = self.made_by_hook(directory)?.0;
        if made.iter().any(|listed| listed.record.slug == *slug) {
            return Err(WorktreeError::NotMerged {
                branch: slug.to_string(),
                why: "a hook made this worktree, and only you know what becomes of its work"
                    .to_owned(),
            });
        }
        let repository = Repository::find(&self.git, &self.places, directory)?;
        merge::merge(&repository, slug)
    }
}

/// Removes one worktree if it is free, and adds it to those that are gone, kept or could not be removed.
fn tidy(
    pruned: &mut Pruned,
    listed: ListedWorktree,
    is_free: Result<bool, WorktreeError>,
    dry: bool,
    remove: impl FnOnce(&Slug) -> Result<RemovedWorktree, WorktreeError>,
) {
    let removed = match is_free {
        Ok(true) if dry => Ok(true),
        Ok(true) => remove(&listed.record.slug).map(|_| true),
        other => other,
    };
    match removed {
        Ok(true) => pruned.gone.push(listed),
        // Somebody took it up, or worked in it, in between.
        Ok(false) | Err(WorktreeError::Unsafe { .. } | WorktreeError::NotFound { .. }) => {
            pruned.kept.push(listed);
        }
        Err(error) => pruned.failed.push(error),
    }
}
