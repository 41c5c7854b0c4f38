//! Worktrees of members on other machines: their commits are in refs of this repository that are no
//! branches, and their records in `swarm/members` of the shared git directory.

use std::path::Path;

use swarm_os::{InheritableLock, ensure_private_dir};
use swarm_protocol::{PublishedBranch, TeamName};

use crate::bundle::{BundleError, is_commit};
use crate::git::Call;
use crate::heads::is_object_id;
use crate::record::short;
use crate::repository::{LOCK_WAIT, Repository};
use crate::{
    Base, Owner, Record, RemoteState, Result, Slug, WorktreeError, Worktrees, fetched, json_file,
    recover,
};

/// The work in a worktree that will be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingWork {
    /// The record of the worktree.
    pub record: Record,
    /// The last commit of its branch.
    pub commit: String,
    /// The first changed files that are not committed.
    pub uncommitted: Vec<String>,
}

/// What has to be fetched of a published branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing: the worktree is in this repository, or its work was merged and forgotten.
    Nothing,
    /// Its description: the commits are here.
    Record,
    /// Its commits too.
    Bundle,
}

/// Number of uncommitted files that are named.
const NAMED: usize = 20;

impl OutgoingWork {
    /// Returns the commit before the work, which other machines may have.
    pub fn base(&self) -> &str {
        let base = &self.record.base;
        base.snapshot_of.as_deref().unwrap_or(&base.sha)
    }

    /// Returns whether there are commits.
    pub fn has_commits(&self) -> bool {
        self.commit != self.base()
    }
}

impl Worktrees {
    /// Returns the work in the worktree that contains a directory; `None` if there is no worktree
    /// of swarm, or a hook created it.
    ///
    /// # Errors
    /// [`WorktreeError`] if git fails.
    pub fn outgoing(&self, directory: &Path) -> Result<Option<OutgoingWork>> {
        let Some(record) = self.find(directory)?.filter(|record| !record.by_hook) else {
            return Ok(None);
        };
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        let Some(commit) = repository.tip(&record)? else {
            return Ok(None);
        };
        let checkout = crate::view::Checkout::at(&repository, &record.path)?;
        let mut uncommitted = checkout.changed_files("--untracked-files=normal")?;
        uncommitted.retain(|file| !record.carries(file.as_ref()));
        uncommitted.truncate(NAMED);
        Ok(Some(OutgoingWork {
            record,
            commit,
            uncommitted,
        }))
    }

    /// Creates a git bundle of the commits of a work.
    ///
    /// # Errors
    /// [`WorktreeError::BundleTooLarge`] above `limit` bytes.
    pub fn bundle(&self, work: &OutgoingWork, limit: u64) -> Result<Vec<u8>> {
        let repository = Repository::find(self.git(), self.registry(), &work.record.path)?;
        repository.bundle(&work.commit, &[work.base().to_owned()], limit)
    }

    /// Returns what has to be fetched of a published branch into the repository of a directory.
    ///
    /// # Errors
    /// If it is not usable, or this is another repository.
    pub fn wants(
        &self,
        directory: &Path,
        team: &TeamName,
        branch: &PublishedBranch,
    ) -> Result<Wanted> {
        let work = RemoteWork { team, branch };
        let repository = Repository::find(self.git(), self.registry(), directory);
        let repository = repository.map_err(|error| match error {
            WorktreeError::NoRepository(directory) => {
                let directory = directory.display();
                work.not_fetched(&format!("{directory} is not in a clone of the repository"))
            }
            error => error,
        })?;
        let slug = work.refuse_unusable(&repository)?;
        let record = work.record(&repository, slug.clone());
        // The member works in this repository.
        let here = Record::load(&repository, &slug)?;
        if here.is_some_and(|here| here.owner.is_same_agent(&record.owner)) {
            return Ok(Wanted::Nothing);
        }
        if !repository.has_commit(&branch.commit)? {
            return Ok(Wanted::Bundle);
        }
        let is_forgotten = repository.tip(&record)?.is_none();
        let is_merged = is_forgotten && recover::is_merged(&repository, &branch.commit)?;
        Ok(if is_merged && branch.uncommitted.is_empty() {
            Wanted::Nothing
        } else {
            Wanted::Record
        })
    }

    /// Adds the commits of a published branch and its record. A branch of this repository is never
    /// changed.
    ///
    /// # Errors
    /// If it is not usable. Nothing has changed then.
    pub fn fetch(
        &self,
        directory: &Path,
        team: &TeamName,
        branch: &PublishedBranch,
        bundle: Option<&[u8]>,
    ) -> Result<Record> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        let work = RemoteWork { team, branch };
        let slug = work.refuse_unusable(&repository)?;
        repository.create_own_directories()?;
        ensure_private_dir(&fetched::directory(&repository))?;
        let checked = match bundle {
            Some(bundle) => {
                let check = |at: &Call<'_>| work.refuse_unrelated(at);
                repository.add_bundle(bundle, &branch.commit, check)
            }
            None => work.refuse_unrelated(&repository.common_git()),
        };
        checked.map_err(|error| work.refused(error))?;
        let path = fetched::file(&repository, team, &branch.member);
        let lock = InheritableLock::take(&path.with_extension("lock"), LOCK_WAIT)?;
        let mut record = work.record(&repository, slug);
        if let Some(before) = json_file::read::<Record>(&path)?
            && before.base == record.base
        {
            (record.taken, record.taken_as) = (before.taken, before.taken_as);
        }
        let at = repository.common_git().changing().under(&lock);
        at.run(&["update-ref", &record.branch_ref(), &branch.commit])?;
        json_file::write(&path, &record)?;
        Ok(record)
    }
}

/// A published branch, which is not trusted.
struct RemoteWork<'a> {
    team: &'a TeamName,
    branch: &'a PublishedBranch,
}

impl RemoteWork<'_> {
    /// Refuses values that git could take for something else, and branches of other repositories.
    fn refuse_unusable(&self, repository: &Repository) -> Result<Slug> {
        let branch = self.branch;
        let ids = [
            Some(&branch.commit),
            Some(&branch.base),
            branch.snapshot.as_ref(),
        ];
        let slug = Slug::parse(&branch.worktree).ok();
        let is_usable = ids.into_iter().flatten().all(|id| is_object_id(id));
        let slug = slug.filter(|slug| is_usable && slug.branch() == branch.branch);
        let slug = slug.ok_or_else(|| self.not_fetched("what was published is invalid"))?;
        if !repository.has_commit(&branch.base)? {
            return Err(self.refused(BundleError::Lacks(branch.base.clone())));
        }
        Ok(slug)
    }

    /// Refuses commits that are not based on the commit that they should be.
    fn refuse_unrelated(&self, at: &Call<'_>) -> Result<(), BundleError> {
        let branch = self.branch;
        let begin = branch.snapshot.as_ref().unwrap_or(&branch.base);
        for (one, other) in [(&branch.base, begin), (begin, &branch.commit)] {
            let is_related = is_commit(at, other)?
                && at.succeeds(&["merge-base", "--is-ancestor", one, other])?;
            if !is_related {
                return Err(BundleError::Refused(
                    "its commits are not based on the announced commit",
                ));
            }
        }
        Ok(())
    }

    fn record(&self, repository: &Repository, slug: Slug) -> Record {
        let branch = self.branch;
        let (sha, snapshot_of) = match &branch.snapshot {
            Some(snapshot) => (snapshot.clone(), Some(branch.base.clone())),
            None => (branch.base.clone(), None),
        };
        let owner = Owner {
            team: Some(self.team.clone()),
            member: Some(branch.member.clone()),
            ..Owner::default()
        };
        Record {
            path: branch.path.clone(),
            branch: branch.branch.clone(),
            base: Base {
                sha,
                branch: branch.target.clone(),
                snapshot_of,
                ..Base::default()
            },
            target: branch.target.clone(),
            remote: Some(RemoteState {
                host: branch.host.clone(),
                uncommitted: branch.uncommitted.clone(),
            }),
            ..Record::new(slug, repository.top.clone(), owner, branch.published_at)
        }
    }

    fn refused(&self, error: BundleError) -> WorktreeError {
        match error {
            BundleError::Lacks(commit) => self.not_fetched(&format!(
                "this repository lacks the commit {} that it is based on; run `git fetch`, or run the command in the repository that the team works on",
                short(&commit)
            )),
            BundleError::Refused(why) => self.not_fetched(why),
            BundleError::Failed(error) => error,
        }
    }

    fn not_fetched(&self, why: &str) -> WorktreeError {
        WorktreeError::not_fetched(self.branch, self.team, why)
    }
}
