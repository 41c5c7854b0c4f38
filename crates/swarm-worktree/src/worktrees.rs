//! All operations on worktrees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::{InheritableLock, LockInterrupt};
use swarm_protocol::UnixMs;

use crate::by_hook::ByHook;
use crate::create::create;
use crate::enclosing::find_enclosing;
use crate::list::describe;
use crate::registration::check;
use crate::registry::WorktreeRegistry;
use crate::remove::{finish, remove, unlock_in_git};
use crate::repository::{LOCK_WAIT, Repository};
use crate::target::clean_checkout;
use crate::usage::KnownOccupants;
use crate::{
    Condition, Created, DirectoryMaker, FormerOwner, Git, ListedWorktree, MergeCandidate, Merged,
    Occupants, ProcessMark, Pruned, Record, RemovedWorktree, Request, Result, Slug, Stage,
    WorktreeError, WorktreeOutcome, WorktreeSettings, fetched, recover, temporary,
};

/// Creates, lists, merges and removes worktrees.
#[derive(Debug, Clone)]
pub struct Worktrees {
    git: Git,
    own: PathBuf,
    registry: WorktreeRegistry,
    settings: WorktreeSettings,
    by_hook: Option<ByHook>,
}

impl Worktrees {
    /// Creates a handle. `own` is swarm's directory for the registry of worktrees outside of main
    /// checkouts; agents in worktrees must not be able to write there.
    pub fn new(git: Git, settings: WorktreeSettings, own: PathBuf) -> Self {
        Self {
            git,
            registry: WorktreeRegistry::below(&own),
            own,
            settings,
            by_hook: None,
        }
    }

    /// Sets the creator of directories that replaces git.
    #[must_use]
    pub fn with_maker(mut self, maker: Arc<dyn DirectoryMaker>) -> Self {
        let mut by_hook = ByHook::new(maker, self.own.clone());
        by_hook.occupants = self.registry.occupants.clone();
        self.by_hook = Some(by_hook);
        self
    }

    /// Sets the lookup of running members and leads.
    #[must_use]
    pub fn with_occupants(mut self, occupants: Arc<dyn Occupants>) -> Self {
        let occupants = KnownOccupants(Some(occupants));
        if let Some(by_hook) = &mut self.by_hook {
            by_hook.occupants = occupants.clone();
        }
        self.registry.occupants = occupants;
        self
    }

    /// Returns the hook that created the worktree of a record, if it was not git.
    fn hook_of(&self, record: &Record) -> Option<&ByHook> {
        self.by_hook.as_ref().filter(|_| record.by_hook)
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(crate) fn registry(&self) -> &WorktreeRegistry {
        &self.registry
    }

    /// Returns the settings.
    pub fn settings(&self) -> &WorktreeSettings {
        &self.settings
    }

    /// Creates a worktree, or reuses an existing one that is not in use. After an error, branch,
    /// directory and registration are unchanged.
    ///
    /// # Errors
    /// [`WorktreeError`] with the reason.
    pub fn create(&self, request: &Request) -> Result<Created> {
        match &self.by_hook {
            Some(by_hook) if by_hook.makes() => by_hook.create(request),
            _ => create(&self.git, &self.registry, &self.settings, request),
        }
    }

    /// Undoes [`Worktrees::create`] because the agent was not started. Does nothing if the worktree
    /// has a new owner.
    ///
    /// # Errors
    /// [`WorktreeError`] if it could not be undone; [`Worktrees::list`] then still lists it.
    pub fn undo(&self, created: &Created) -> Result<()> {
        if let Some(by_hook) = self.hook_of(&created.record) {
            return by_hook.undo(created);
        }
        let repository = Repository::find(&self.git, &self.registry, &created.record.from)?;
        let slug = &created.record.slug;
        let lock = InheritableLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
        let Some(mut record) = Record::load(&repository, slug)? else {
            return Ok(());
        };
        if !record.release_from(&created.record.former_owner()) {
            return Ok(());
        }
        record.save(&repository)?;
        unlock_in_git(&repository, &record);
        let untouched = created.fresh && crate::inspect::hazards(&repository, &record).is_empty();
        if untouched {
            recover::undo(&repository, &record)?;
            lock.retire();
        }
        Ok(())
    }

    /// Releases a worktree without removing it. Does nothing if it has a new owner.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn release(&self, created: &Created) -> Result<()> {
        let former_owner = created.record.former_owner();
        self.change(&created.record, |record| record.release_from(&former_owner))
    }

    /// Marks a released worktree as in use by its former owner again. Does nothing if it has a new
    /// owner.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn reacquire(&self, created: &Created) -> Result<()> {
        self.change(&created.record, |record| {
            let is_free = !record.in_use;
            if is_free {
                record.in_use = true;
                record.owner.clone_from(&created.record.owner);
                record.process.clone_from(&created.record.process);
            }
            is_free
        })
    }

    /// Assigns a worktree whose holder has exited to a process that continues its work. Other
    /// processes may work in it too.
    ///
    /// # Errors
    /// [`WorktreeError::Taken`] while the holder is running, [`WorktreeError::Mismatch`] if the
    /// worktree does not match its record.
    pub fn take_over(&self, given: &Record, process: ProcessMark) -> Result<Created> {
        if let Some(by_hook) = self.hook_of(given) {
            return by_hook.take_over(given, process);
        }
        let repository = Repository::find(&self.git, &self.registry, &given.from)?;
        let _lock = InheritableLock::take(&repository.slug_lock_path(&given.slug), LOCK_WAIT)?;
        let found = Record::load(&repository, &given.slug)?;
        let missing = || WorktreeError::not_found(&given.slug, given.from.clone());
        let mut record = found.ok_or_else(missing)?;
        let seen = check(&repository, &record)?;
        record.hand_over(process, &self.registry.occupants)?;
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

    /// Records that only the life lock of the owner determines whether the worktree is in use, and
    /// no longer the process that started the owner. Does nothing if it has a new owner.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be written.
    pub fn rely_on_life_lock(&self, created: &Created) -> Result<()> {
        self.change(&created.record, |record| {
            let is_theirs = record.is_still_of(&created.record.former_owner());
            if is_theirs {
                record.process = None;
            }
            is_theirs
        })
    }

    /// Changes the present record of a worktree under its lock, unless `change` returns `false`.
    fn change(&self, given: &Record, change: impl FnOnce(&mut Record) -> bool) -> Result<()> {
        if let Some(by_hook) = self.hook_of(given) {
            return by_hook.change(given, change).map(drop);
        }
        let repository = Repository::find(&self.git, &self.registry, &given.from)?;
        if let Some((record, _lock)) = Record::change(&repository, &given.slug, change)?
            && !record.in_use
        {
            unlock_in_git(&repository, &record);
        }
        Ok(())
    }

    /// Returns the worktree that contains a directory, if any.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be read.
    pub fn find(&self, directory: &Path) -> Result<Option<Record>> {
        if let Some(by_hook) = &self.by_hook
            && let Some(record) = by_hook.find(directory)?
        {
            return Ok(Some(record));
        }
        Ok(find_enclosing(&self.registry, directory)?.map(|enclosing| enclosing.record))
    }

    /// Returns the worktree that contains a directory, if it belongs to the repository of `origin`.
    ///
    /// # Errors
    /// [`WorktreeError`] if `origin` is not in a repository, or the record cannot be read.
    pub fn find_in_repository(&self, origin: &Path, directory: &Path) -> Result<Option<Record>> {
        if let Some(by_hook) = &self.by_hook
            && let Some(record) = by_hook.find_in_repository(origin, directory)?
        {
            return Ok(Some(record));
        }
        let repository = Repository::find(&self.git, &self.registry, origin)?;
        let found = find_enclosing(&self.registry, directory)?
            .filter(|enclosing| enclosing.common == repository.common);
        Ok(found.map(|enclosing| enclosing.record))
    }

    /// Handles the stop of an agent that worked in a worktree: removes it with its branch if it has
    /// no work that is not elsewhere too, and keeps it otherwise. Returns `None` if the path is not
    /// in a worktree of swarm, or the worktree belongs to another agent by now.
    ///
    /// # Errors
    /// [`WorktreeError`] if it does not exist or could not be removed.
    pub fn finish(
        &self,
        path: &Path,
        former_owner: &FormerOwner,
        now: UnixMs,
    ) -> Result<Option<WorktreeOutcome>> {
        if let Some(by_hook) = &self.by_hook
            && let Some(record) = by_hook.find(path)?
        {
            return by_hook.finish(&record, former_owner);
        }
        let Some(enclosing) = find_enclosing(&self.registry, path)? else {
            return Ok(None);
        };
        let slug = enclosing.record.slug.clone();
        // The directory of the worktree may be removed below.
        let mut repository = Repository::of_worktree(&self.git, &self.registry, enclosing)?;
        if let Some(main) = &repository.main {
            repository.top.clone_from(main);
        }
        finish(&repository, &slug, former_owner, now)
    }

    /// Notes that the commits of a worktree's branch up to this one were merged on another machine:
    /// they do not prevent its removal. Does nothing if the path is not in a worktree of swarm.
    ///
    /// # Errors
    /// [`WorktreeError`] if the record cannot be changed.
    pub fn note_merged_elsewhere(&self, path: &Path, commit: &str) -> Result<()> {
        let Some(enclosing) = find_enclosing(&self.registry, path)? else {
            return Ok(());
        };
        let slug = enclosing.record.slug.clone();
        let repository = Repository::of_worktree(&self.git, &self.registry, enclosing)?;
        let note = |record: &mut Record| {
            record.merged_elsewhere = Some(commit.to_owned());
            true
        };
        Record::change(&repository, &slug, note).map(drop)
    }

    /// Returns the worktrees of the repository that contains a directory, and the errors of
    /// unreadable records.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository.
    pub fn list(&self, directory: &Path) -> Result<(Vec<ListedWorktree>, Vec<WorktreeError>)> {
        let (mut made, mut wrong) = self.made_by_hook(directory)?;
        let repository = match Repository::find(&self.git, &self.registry, directory) {
            // Hooks also support directories that are not in a repository.
            Err(WorktreeError::NoRepository(_)) if self.works_without_git(&made) => {
                return Ok((made, wrong));
            }
            found => found?,
        };
        let (records, damaged) = Record::all(&repository)?;
        let listed = records
            .into_iter()
            .chain(fetched::all(&repository)?)
            .map(|record| describe(&repository, record));
        made.splice(0..0, listed);
        wrong.extend(damaged);
        Ok((made, wrong))
    }

    /// Returns the worktrees of the repository of a directory that are still assigned to a process.
    /// Empty if there is no repository.
    ///
    /// # Errors
    /// [`WorktreeError`] if the repository cannot be read.
    pub fn held_by(&self, directory: &Path, process: &ProcessMark) -> Result<Vec<Record>> {
        let (made, _) = self.made_by_hook(directory)?;
        let mut records: Vec<_> = made.into_iter().map(|listed| listed.record).collect();
        match Repository::find(&self.git, &self.registry, directory) {
            Err(WorktreeError::NoRepository(_)) => {}
            found => records.extend(Record::all(&found?)?.0),
        }
        records.retain(|record| {
            record.in_use
                && record.stage == Stage::Ready
                && record.process.as_ref() == Some(process)
        });
        Ok(records)
    }

    /// Removes a worktree with its branch. Fails if work would be lost; with `force`, the work is
    /// saved first.
    ///
    /// # Errors
    /// [`WorktreeError::Unsafe`] with everything that would be lost.
    pub fn remove(
        &self,
        directory: &Path,
        slug: &Slug,
        force: bool,
        now: UnixMs,
    ) -> Result<RemovedWorktree> {
        if let Some(by_hook) = &self.by_hook
            && let Some(removed) = by_hook.remove(directory, slug, force)?
        {
            return Ok(removed);
        }
        let repository = Repository::find(&self.git, &self.registry, directory)?;
        remove(&repository, slug, force, now)
    }

    /// Returns the worktrees that hooks created for the project of a directory.
    fn made_by_hook(&self, directory: &Path) -> Result<(Vec<ListedWorktree>, Vec<WorktreeError>)> {
        let by_hook = self.by_hook.as_ref();
        by_hook.map_or(Ok(<_>::default()), |by_hook| by_hook.list(directory))
    }

    fn works_without_git(&self, made: &[ListedWorktree]) -> bool {
        !made.is_empty() || self.by_hook.as_ref().is_some_and(ByHook::makes)
    }

    /// Removes worktrees without work that is not elsewhere too, incompletely created ones, and
    /// temporary directories of dead processes. With `dry`, only returns which. Continues after an error.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository, or its records cannot be read.
    pub fn prune(&self, directory: &Path, dry: bool, now: UnixMs) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        for listed in self.made_by_hook(directory)?.0 {
            let is_free = listed.condition == Condition::Gone;
            prune_one(&mut pruned, listed, Ok(is_free), dry, |slug| {
                self.remove(directory, slug, false, now)
            });
        }
        let repository = match Repository::find(&self.git, &self.registry, directory) {
            Err(WorktreeError::NoRepository(_))
                if self.works_without_git(&pruned.kept)
                    || !pruned.gone.is_empty()
                    || !pruned.failed.is_empty() =>
            {
                return Ok(pruned);
            }
            found => found?,
        };
        if !dry {
            temporary::clear(&repository);
        }
        let (mut records, _) = Record::all(&repository)?;
        records.extend(fetched::all(&repository)?);
        for record in records {
            let listed = describe(&repository, record);
            let is_free = match listed.condition {
                Condition::Clean | Condition::Gone => Ok(listed.hazards.is_empty()),
                Condition::HalfMade => {
                    let lock = repository.slug_lock_path(&listed.record.slug);
                    InheritableLock::try_take(&lock).map(|free| free.is_some())
                }
                _ => Ok(false),
            };
            prune_one(
                &mut pruned,
                listed,
                is_free.map_err(WorktreeError::from),
                dry,
                |slug| remove(&repository, slug, false, now),
            );
        }
        Ok(pruned)
    }

    /// Merges the branch of a worktree into its target branch. Concurrent merges wait for each
    /// other.
    ///
    /// # Errors
    /// [`WorktreeError::Conflict`] with the files. The target is unchanged after any error.
    pub fn merge(&self, directory: &Path, slug: &Slug) -> Result<Merged> {
        self.merge_candidate(directory, slug, &LockInterrupt::default(), &|| ())?
            .apply()
    }

    /// Prepares the merge of a worktree after those that are in progress. An interrupt ends the
    /// wait for them. `on_wait` is called once if the wait takes longer than a second.
    ///
    /// # Errors
    /// [`WorktreeError::Conflict`] with the files, [`WorktreeError::TargetChanged`] if the target
    /// cannot be updated.
    pub fn merge_candidate(
        &self,
        directory: &Path,
        slug: &Slug,
        interrupt: &LockInterrupt,
        on_wait: &dyn Fn(),
    ) -> Result<MergeCandidate> {
        let made = self.made_by_hook(directory)?.0;
        if made.iter().any(|listed| listed.record.slug == *slug) {
            return Err(WorktreeError::not_merged(
                slug,
                "it was created by a hook, so swarm cannot merge it; merge its work manually",
            ));
        }
        let repository = Repository::find(&self.git, &self.registry, directory)?;
        MergeCandidate::prepare(repository, self.settings.clone(), slug, interrupt, on_wait)
    }

    /// Requires that the checkout of a worktree's target has no uncommitted changes, for which
    /// merges wait.
    ///
    /// # Errors
    /// [`WorktreeError::TargetChanged`] if it has some.
    pub fn require_clean_target(&self, directory: &Path, slug: &Slug) -> Result<()> {
        let repository = Repository::find(&self.git, &self.registry, directory)?;
        let Some(record) = Record::find(&repository, slug)? else {
            return Ok(());
        };
        let Some(target) = &record.target else {
            return Ok(());
        };
        clean_checkout(&repository, &record, target).map(drop)
    }
}

/// Removes one worktree if it is free, and adds it to those that are gone, kept or could not be
/// removed.
fn prune_one(
    pruned: &mut Pruned,
    listed: ListedWorktree,
    is_free: Result<bool>,
    dry: bool,
    remove: impl FnOnce(&Slug) -> Result<RemovedWorktree>,
) {
    let removed = match is_free {
        Ok(true) if dry => Ok(true),
        Ok(true) => remove(&listed.record.slug).map(|_| true),
        other => other,
    };
    match removed {
        Ok(true) => pruned.gone.push(listed),
        // It was reused or changed in the meantime.
        Ok(false) | Err(WorktreeError::Unsafe { .. } | WorktreeError::NotFound { .. }) => {
            pruned.kept.push(listed);
        }
        Err(error) => pruned.failed.push(error),
    }
}
