//! Reads, writes and changes the records of a repository's worktrees under their locks.

use std::path::{Path, PathBuf};

use swarm_os::InheritableLock;
use swarm_protocol::ErrorKind;

use crate::place::confirmed;
use crate::repository::{LOCK_WAIT, Repository};
use crate::usage::KnownOccupants;
use crate::{ProcessMark, Record, Result, Slug, WorktreeError, fetched, json_file, usage};

impl Record {
    pub(crate) fn save(&self, repository: &Repository) -> Result<()> {
        json_file::write(&file(repository, &self.slug), self)
    }

    pub(crate) fn load(repository: &Repository, slug: &Slug) -> Result<Option<Self>> {
        let record = Self::read(&repository.records(), slug)?;
        let confirmed = record.map(|record| confirmed(repository, slug, record));
        confirmed.transpose()
    }

    /// Returns the record of a worktree, here or on another machine. Fails if worktrees of several
    /// agents have this name.
    pub(crate) fn find(repository: &Repository, slug: &Slug) -> Result<Option<Self>> {
        let here = Self::load(repository, slug)?;
        let mut all = fetched::all(repository)?;
        all.retain(|record| {
            let is_here = |here: &Self| here.owner.is_same_agent(&record.owner);
            record.slug == *slug && !here.as_ref().is_some_and(is_here)
        });
        all.splice(0..0, here);
        if all.len() > 1 {
            let of = all.iter().map(|record| {
                let host = record
                    .remote
                    .as_ref()
                    .map_or("this machine", |remote| &remote.host);
                format!("{} on {host}", record.owner.describe())
            });
            let mut of: Vec<_> = of.collect();
            of.sort();
            let what = format!(
                "there are several worktrees `{slug}`: of {}; remove those that are not needed with `swarm worktree remove {slug}` where they are",
                of.join(", of ")
            );
            return Err(WorktreeError::Failed(ErrorKind::Conflict, what));
        }
        Ok(all.pop())
    }

    /// Takes the lock of a record, reads it and changes it. Returns the record with its lock, or
    /// `None` if there is no record or `change` returns `false`. Do not call it while holding the
    /// lock of the repository: holders of this lock may wait for that one.
    pub(crate) fn change(
        repository: &Repository,
        slug: &Slug,
        change: impl FnOnce(&mut Self) -> bool,
    ) -> Result<Option<(Self, InheritableLock)>> {
        if Self::load(repository, slug)?.is_none() {
            return Ok(None);
        }
        let lock = InheritableLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
        let Some(mut record) = Self::load(repository, slug)? else {
            lock.retire();
            return Ok(None);
        };
        if !change(&mut record) {
            return Ok(None);
        }
        record.save(repository)?;
        Ok(Some((record, lock)))
    }

    pub(crate) fn forget(repository: &Repository, slug: &Slug) -> Result<()> {
        Self::forget_file(&file(repository, slug))
    }

    /// Removes the file of a record.
    pub(crate) fn forget_file(path: &Path) -> Result<()> {
        swarm_os::remove_if_present(path).map_err(WorktreeError::at(path))
    }

    /// Returns all records of a repository by name, and the errors of unreadable ones.
    pub(crate) fn all(repository: &Repository) -> Result<(Vec<Self>, Vec<WorktreeError>)> {
        let (found, mut damaged) = Self::all_in(&repository.records())?;
        let mut records = Vec::new();
        for record in found {
            let slug = record.slug.clone();
            match confirmed(repository, &slug, record) {
                Ok(record) => records.push(record),
                Err(error) => damaged.push(error),
            }
        }
        Ok((records, damaged))
    }

    /// Assigns the worktree to another process. Fails while its holder is running.
    pub(crate) fn hand_over(
        &mut self,
        process: ProcessMark,
        occupants: &KnownOccupants,
    ) -> Result<()> {
        WorktreeError::require_free(&self.slug, usage::holder(self, occupants))?;
        self.in_use = true;
        self.process = Some(process);
        Ok(())
    }
}

fn file(repository: &Repository, slug: &Slug) -> PathBuf {
    repository
        .records()
        .join(format!("{}.json", slug.directory()))
}
