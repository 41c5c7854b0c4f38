//! Worktrees that a hook of the user creates and removes instead of git.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use swarm_os::{InheritableLock, ensure_private_dir, fingerprint};
use swarm_protocol::ErrorKind;
use tokio_util::sync::CancellationToken;

use crate::heads::look_at;
use crate::repository::LOCK_WAIT;
use crate::usage::KnownOccupants;
use crate::{
    Base, Condition, Created, FormerOwner, Hazard, ListedWorktree, Owner, ProcessMark, Record,
    RemovedWorktree, Request, Result, Slug, WorktreeError, WorktreeOutcome, json_file, usage,
};

/// The creator of directories, and the records of its directories, which need not be in a
/// repository.
#[derive(Debug, Clone)]
pub(crate) struct ByHook {
    maker: Arc<dyn DirectoryMaker>,
    records: PathBuf,
    pub(crate) occupants: KnownOccupants,
}

impl ByHook {
    pub(crate) fn new(maker: Arc<dyn DirectoryMaker>, records: PathBuf) -> Self {
        Self {
            maker,
            records,
            occupants: KnownOccupants::default(),
        }
    }

    /// Returns whether the hook creates new directories.
    pub(crate) fn makes(&self) -> bool {
        self.maker.makes()
    }

    /// Creates a directory, or reuses an existing one that is not in use.
    pub(crate) fn create(&self, request: &Request) -> Result<Created> {
        let from = self.origin(&request.from)?;
        ensure_private_dir(&self.records)?;
        let _lock = InheritableLock::take(&self.lock_path(&from, &request.slug), LOCK_WAIT)?;
        match self.load(&from, &request.slug)? {
            Some(record) if record.path.is_dir() => self.take_up(record, request),
            _ => self.make(from, request),
        }
    }

    fn take_up(&self, mut record: Record, request: &Request) -> Result<Created> {
        let user = usage::user_of(&record, &self.occupants);
        WorktreeError::require_free(&record.slug, user)?;
        record.owner = request.owner.clone();
        record.process = Some(request.process.clone());
        record.in_use = true;
        self.save(&record)?;
        let notice = format!(
            "{} already existed, with its previous work",
            record.path.display()
        );
        Ok(created(record, false, &request.from, vec![notice]))
    }

    fn make(&self, from: PathBuf, request: &Request) -> Result<Created> {
        let failed = |why: String| {
            let slug = &request.slug;
            let what = format!(
                "the worktree `{slug}` was not created: the WorktreeCreate hook failed: {why}"
            );
            WorktreeError::Failed(ErrorKind::Refused, what)
        };
        let said = self
            .maker
            .make(
                &request.slug,
                &request.from,
                &request.owner,
                &request.cancel,
            )
            .map_err(|why| {
                if request.cancel.is_cancelled() {
                    let slug = request.slug.to_string();
                    WorktreeError::Interrupted(slug)
                } else {
                    failed(why)
                }
            })?;
        let path = usable(&said, &from).map_err(failed)?;
        // Two concurrent hooks may print the same path.
        let _lock = InheritableLock::take(&self.records.join("all.lock"), LOCK_WAIT)?;
        if let Some(other) = self.overlapping(&path, &from, &request.slug)? {
            return Err(failed(format!(
                "it printed {}, and {} is the directory of the worktree `{}`; it must print a different path for each name",
                said.display(),
                other.path.display(),
                other.slug
            )));
        }
        let seen = look_at(&path);
        let branch = seen.as_ref().and_then(|seen| seen.branch.clone());
        let slug = request.slug.clone();
        let record = Record {
            path,
            base: Base {
                sha: seen.and_then(|seen| seen.head).unwrap_or_default(),
                branch,
                ..Base::default()
            },
            process: Some(request.process.clone()),
            by_hook: true,
            ..Record::new(slug, from, request.owner.clone(), request.now)
        };
        self.save(&record)?;
        Ok(created(record, true, &request.from, Vec::new()))
    }

    /// Returns another worktree whose directory is equal to this one, contains it or is inside it.
    fn overlapping(&self, path: &Path, from: &Path, slug: &Slug) -> Result<Option<Record>> {
        let overlaps = |record: &Record| {
            let is_other = record.from != from || record.slug != *slug;
            is_other && (record.path.starts_with(path) || path.starts_with(&record.path))
        };
        Ok(self.all()?.0.into_iter().find(overlaps))
    }

    /// Reuses a directory whose holder has exited, even if other processes work in it.
    pub(crate) fn take_over(&self, given: &Record, process: ProcessMark) -> Result<Created> {
        let _lock = InheritableLock::take(&self.lock_path(&given.from, &given.slug), LOCK_WAIT)?;
        let found = self.load(&given.from, &given.slug)?;
        let missing = || WorktreeError::not_found(&given.slug, given.from.clone());
        let mut record = found.ok_or_else(missing)?;
        record.hand_over(process, &self.occupants)?;
        self.save(&record)?;
        Ok(created(record, false, &given.from, Vec::new()))
    }

    /// Releases a directory in which no work was started, and removes it if it was newly created.
    pub(crate) fn undo(&self, created: &Created) -> Result<()> {
        let record = &created.record;
        let _lock = InheritableLock::take(&self.lock_path(&record.from, &record.slug), LOCK_WAIT)?;
        let Some(mut record) = self.load(&record.from, &record.slug)? else {
            return Ok(());
        };
        if !record.release_from(&created.record.former_owner()) {
            return Ok(());
        }
        self.save(&record)?;
        if created.fresh {
            self.delete(&record)?;
        }
        Ok(())
    }

    /// Changes the present record of a directory under its lock, unless `change` returns `false`.
    /// Returns the record, changed or not.
    pub(crate) fn change(
        &self,
        at: &Record,
        change: impl FnOnce(&mut Record) -> bool,
    ) -> Result<Option<Record>> {
        let _lock = InheritableLock::take(&self.lock_path(&at.from, &at.slug), LOCK_WAIT)?;
        let Some(mut record) = self.load(&at.from, &at.slug)? else {
            return Ok(None);
        };
        if change(&mut record) {
            self.save(&record)?;
        }
        Ok(Some(record))
    }

    /// Releases the directory of an agent that has stopped. It is kept, because its contents are
    /// unknown. Returns `None` if another agent uses it by now.
    pub(crate) fn finish(
        &self,
        at: &Record,
        former_owner: &FormerOwner,
    ) -> Result<Option<WorktreeOutcome>> {
        let record = self.change(at, |record| record.release_from(former_owner))?;
        let record = record.filter(|record| record.owner.is_same_agent(&former_owner.owner));
        Ok(record.map(|record| WorktreeOutcome::Kept {
            slug: record.slug,
            path: record.path,
            branch: String::new(),
            why: vec![Hazard::MadeByHook],
        }))
    }

    /// Removes a directory. Requires `force`, because its contents are unknown. Returns `None` if
    /// there is none of this name.
    pub(crate) fn remove(
        &self,
        directory: &Path,
        slug: &Slug,
        force: bool,
    ) -> Result<Option<RemovedWorktree>> {
        let from = self.origin(directory)?;
        if self.load(&from, slug)?.is_none() {
            return Ok(None);
        }
        let _lock = InheritableLock::take(&self.lock_path(&from, slug), LOCK_WAIT)?;
        let Some(record) = self.load(&from, slug)? else {
            return Ok(None);
        };
        let hazards = hazards(&record, &self.occupants);
        let in_use = |hazard: &Hazard| !matches!(hazard, Hazard::MadeByHook);
        if !hazards.is_empty() && (!force || hazards.iter().any(in_use)) {
            return Err(WorktreeError::Unsafe {
                slug: slug.to_string(),
                hazards,
                forced: force,
            });
        }
        self.delete(&record)?;
        Ok(Some(RemovedWorktree {
            slug: record.slug,
            path: record.path,
            branch: String::new(),
            rescue: None,
            remains_on: None,
        }))
    }

    fn delete(&self, record: &Record) -> Result<()> {
        let there = || record.path.symlink_metadata().is_ok();
        if there() {
            let taken = self.maker.remove(record);
            // An error of the hook is ignored if the directory was removed.
            if there() {
                let why = taken.err().unwrap_or_else(|| {
                    format!(
                        "the hook succeeded, but {} still exists",
                        record.path.display()
                    )
                });
                return Err(WorktreeError::not_removed(&record.slug, &why));
            }
        }
        let path = self.file(&record.from, &record.slug);
        std::fs::remove_file(&path).map_err(WorktreeError::at(&path))
    }

    /// Returns the record of the directory that contains `path`.
    pub(crate) fn find(&self, path: &Path) -> Result<Option<Record>> {
        let Ok(path) = path.canonicalize() else {
            return Ok(None);
        };
        let is_it = |record: &Record| {
            let top = record.path.canonicalize();
            top.is_ok_and(|top| path.starts_with(top))
        };
        Ok(self.all()?.0.into_iter().find(is_it))
    }

    /// Like [`ByHook::find`], if the directory was created for the project of `origin`.
    pub(crate) fn find_in_repository(
        &self,
        origin: &Path,
        directory: &Path,
    ) -> Result<Option<Record>> {
        let project = self.origin(origin)?;
        let found = self.find(directory)?;
        Ok(found.filter(|record| record.from == project))
    }

    /// Returns the worktrees created for the project of a directory, and the errors of unreadable
    /// records.
    pub(crate) fn list(
        &self,
        directory: &Path,
    ) -> Result<(Vec<ListedWorktree>, Vec<WorktreeError>)> {
        let from = self.origin(directory)?;
        let (records, damaged) = self.all()?;
        let own = records.into_iter().filter(|record| record.from == from);
        Ok((
            own.map(|record| described(record, &self.occupants))
                .collect(),
            damaged,
        ))
    }

    /// Returns the project of a directory; for a worktree, the project that it was created for.
    fn origin(&self, directory: &Path) -> Result<PathBuf> {
        Ok(match self.find(directory)? {
            Some(record) => record.from,
            None => top_of(directory),
        })
    }

    fn all(&self) -> Result<(Vec<Record>, Vec<WorktreeError>)> {
        Record::all_in(&self.records)
    }

    fn load(&self, from: &Path, slug: &Slug) -> Result<Option<Record>> {
        json_file::read(&self.file(from, slug))
    }

    fn save(&self, record: &Record) -> Result<()> {
        json_file::write(&self.file(&record.from, &record.slug), record)
    }

    fn file(&self, from: &Path, slug: &Slug) -> PathBuf {
        self.records.join(format!("{}.json", stem(from, slug)))
    }

    fn lock_path(&self, from: &Path, slug: &Slug) -> PathBuf {
        self.records.join(format!("{}.lock", stem(from, slug)))
    }
}

/// Returns the file name of a worktree's files. Includes a hash of the project, because projects
/// may use the same slug.
fn stem(from: &Path, slug: &Slug) -> String {
    let hash = fingerprint(from.as_os_str().as_encoded_bytes());
    format!("{}@{hash:016x}", slug.directory())
}

/// Returns the project of a directory: its checkout, or the directory itself.
fn top_of(directory: &Path) -> PathBuf {
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let top = directory
        .ancestors()
        .find(|above| above.join(".git").symlink_metadata().is_ok());
    top.map_or(directory.clone(), Path::to_owned)
}

/// Validates the path that a hook of the project in `from` printed.
fn usable(said: &Path, from: &Path) -> Result<PathBuf, String> {
    let shown = said.display();
    let plain = |component: Component| !matches!(component, Component::ParentDir);
    if said.is_absolute() && !said.components().all(plain) {
        return Err(format!("it printed {shown}, a path that contains `..`"));
    }
    let path = from.join(said);
    let real = path
        .canonicalize()
        .map_err(|error| format!("it printed {shown}, which cannot be used: {error}"))?;
    if !real.is_dir() {
        return Err(format!("it printed {shown}, which is not a directory"));
    }
    if from.starts_with(&real) {
        return Err(format!(
            "it printed {shown}, which is the project itself or contains it"
        ));
    }
    // A path below the project must not contain links to other directories.
    let below = path.starts_with(from) && !real.starts_with(from);
    if below {
        return Err(format!(
            "it printed {shown}, which is a link out of the project"
        ));
    }
    Ok(real)
}

fn created(record: Record, fresh: bool, from: &Path, notices: Vec<String>) -> Created {
    let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    let below = from
        .strip_prefix(&record.from)
        .map(|below| record.path.join(below));
    let cwd = below.ok().filter(|below| below.is_dir());
    let seen = look_at(&record.path);
    Created {
        cwd: cwd.map_or(record.path.clone(), |cwd| cwd.components().collect()),
        branch: seen.as_ref().and_then(|seen| seen.branch.clone()),
        head: seen.and_then(|seen| seen.head).unwrap_or_default(),
        record,
        fresh,
        notices,
    }
}

fn hazards(record: &Record, occupants: &KnownOccupants) -> Vec<Hazard> {
    let mut found = Vec::new();
    match usage::user_of(record, occupants) {
        Ok(None) => {}
        Ok(Some(by)) => found.push(Hazard::InUse(by)),
        Err(why) => found.push(Hazard::Unknown(why)),
    }
    if record.path.symlink_metadata().is_ok() {
        found.push(Hazard::MadeByHook);
    }
    found
}

fn described(record: Record, occupants: &KnownOccupants) -> ListedWorktree {
    let hazards = hazards(&record, occupants);
    let condition = match hazards.first() {
        None => Condition::Gone,
        Some(Hazard::InUse(_)) => Condition::InUse,
        Some(_) => Condition::Unknown,
    };
    ListedWorktree {
        size: crate::list::size(&record.path),
        record,
        condition,
        hazards,
    }
}

/// Creates and removes the directories of worktrees. Both operations block.
pub trait DirectoryMaker: Send + Sync + fmt::Debug {
    /// Returns whether this implementation creates new directories; otherwise git does.
    fn makes(&self) -> bool;

    /// Creates a directory for an agent whose parent works in `from`. Returns its path, which may
    /// be relative to the project. Returns soon after `cancel` is triggered.
    ///
    /// # Errors
    /// The reason of the failure, as a message for the user.
    fn make(
        &self,
        slug: &Slug,
        from: &Path,
        owner: &Owner,
        cancel: &CancellationToken,
    ) -> Result<PathBuf, String>;

    /// Removes a directory that it created.
    ///
    /// # Errors
    /// The reason of the failure, as a message for the user.
    fn remove(&self, record: &Record) -> Result<(), String>;
}
