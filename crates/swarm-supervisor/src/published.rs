//! Work of members on other machines than the lead's: they publish their branches on the hub, and the
//! lead's machine fetches them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use swarm_protocol::{Clock, MemberName, PublishedBranch};
use swarm_store::{StoreError, StoreLimits, Team};
use swarm_team::{MergeError, PreparedMerge, WorkMerger};
use swarm_worktree::{OutgoingWork, Wanted, WorktreeError, Worktrees};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::merger::merge_error;
use crate::repositories::RepositoryError;
use crate::spawn::blocking;

/// Publishes the branch of a member instead of merging it, because the branch into which it is to be
/// merged is on another machine.
#[derive(Debug)]
pub struct BranchPublisher {
    worktrees: Worktrees,
    team: Arc<dyn Team>,
    member: MemberName,
    host: String,
    clock: Arc<dyn Clock>,
    /// Locked while a branch is published.
    publishing: Mutex<()>,
}

impl BranchPublisher {
    /// Creates a publisher for a member on the machine with this name.
    pub fn new(
        worktrees: Worktrees,
        team: Arc<dyn Team>,
        member: MemberName,
        host: String,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            worktrees,
            team,
            member,
            host,
            clock,
            publishing: Mutex::default(),
        }
    }

    async fn publish_new(&self, worktree: &Path) -> Result<(), RepositoryError> {
        let _publishing = self.publishing.lock().await;
        let before = self.published_before().await?;
        let (worktrees, path) = (self.worktrees.clone(), worktree.to_owned());
        let Some(work) = blocking(move || worktrees.outgoing(&path)).await? else {
            return Ok(());
        };
        let has_news = work.has_commits() || !work.uncommitted.is_empty();
        if !has_news && before.is_none() {
            return Ok(());
        }
        let branch = self.described(&work, before.as_ref()).await?;
        let is_known = before.is_some_and(|before| {
            let published_at = branch.published_at;
            let before = PublishedBranch {
                published_at,
                ..before
            };
            before == branch
        });
        if !is_known {
            self.team.publish_branch(&branch).await?;
        }
        Ok(())
    }

    async fn published_before(&self) -> Result<Option<PublishedBranch>, StoreError> {
        let published = self.team.published_branches().await?;
        let mut published = published.into_iter();
        Ok(published.find(|branch| branch.member == self.member))
    }

    /// Describes the work, and sends its commits if they are new.
    async fn described(
        &self,
        work: &OutgoingWork,
        before: Option<&PublishedBranch>,
    ) -> Result<PublishedBranch, RepositoryError> {
        let record = &work.record;
        let sent = before.filter(|before| {
            before.commit == work.commit && before.base == work.base() && before.bundle.is_some()
        });
        let bundle = match sent {
            Some(before) => before.bundle,
            None if work.has_commits() => {
                let (worktrees, work) = (self.worktrees.clone(), work.clone());
                let limit = StoreLimits::default().max_blob_bytes;
                let bundle = blocking(move || worktrees.bundle(&work, limit)).await?;
                Some(self.team.put_blob(bundle).await?)
            }
            None => None,
        };
        let snapshot = record.base.snapshot_of.as_ref();
        Ok(PublishedBranch {
            member: self.member.clone(),
            worktree: record.slug.to_string(),
            host: self.host.clone(),
            path: record.path.clone(),
            branch: record.branch.clone(),
            commit: work.commit.clone(),
            base: work.base().to_owned(),
            snapshot: snapshot.map(|_| record.base.sha.clone()),
            target: record.target.clone(),
            uncommitted: work.uncommitted.clone(),
            bundle,
            published_at: self.clock.now(),
        })
    }
}

impl From<RepositoryError> for MergeError {
    fn from(why: RepositoryError) -> Self {
        match why {
            RepositoryError::Worktree(error) => merge_error(&error),
            RepositoryError::Store(error) => Self::Refused(error.to_string()),
        }
    }
}

#[async_trait]
impl WorkMerger for BranchPublisher {
    /// Whoever learns that the task is completed finds the work.
    async fn prepare(
        &self,
        worktree: &Path,
        _cancel: &CancellationToken,
    ) -> Result<Option<Box<dyn PreparedMerge>>, MergeError> {
        self.publish(worktree).await.map(|()| None)
    }

    async fn publish(&self, worktree: &Path) -> Result<(), MergeError> {
        Ok(self.publish_new(worktree).await?)
    }

    fn wait_limit(&self) -> Duration {
        Duration::ZERO
    }

    async fn wait_for_target(
        &self,
        _worktree: &Path,
        _within: Duration,
        _cancel: &CancellationToken,
    ) -> Result<(), MergeError> {
        Ok(())
    }
}

/// A published branch that was not fetched.
#[derive(Debug)]
pub struct NotFetched {
    /// What was published.
    pub branch: PublishedBranch,
    /// The reason.
    pub why: WorktreeError,
}

/// Fetches the published branches of a team into the repository of a directory. Branches that were
/// merged and forgotten are not fetched again. Returns those that cannot be fetched.
///
/// # Errors
/// [`StoreError`] if the team cannot be read.
pub async fn fetch_published(
    team: &dyn Team,
    worktrees: &Worktrees,
    directory: &Path,
) -> Result<Vec<NotFetched>, StoreError> {
    let mut failed = Vec::new();
    for mut branch in team.published_branches().await? {
        // Its bundle may have been replaced meanwhile.
        let why = loop {
            match fetch_one(team, worktrees, directory, &branch).await? {
                Ok(()) => break None,
                Err(Some(why)) => break Some(why),
                Err(None) => {}
            }
            let now = team.published_branches().await?.into_iter();
            match now.clone().find(|now| now.member == branch.member) {
                Some(newer) if newer.bundle != branch.bundle => branch = newer,
                _ => {
                    break Some(WorktreeError::NotFetched {
                        branch: branch.branch.clone(),
                        of: format!("{}@{} on {}", branch.member, team.name(), branch.host),
                        why: "its commits are missing on the hub; it publishes them with its next commit"
                            .to_owned(),
                    });
                }
            }
        };
        failed.extend(why.map(|why| NotFetched { branch, why }));
    }
    Ok(failed)
}

/// Fetches a branch; `Err(None)` if its commits are not on the hub.
async fn fetch_one(
    team: &dyn Team,
    worktrees: &Worktrees,
    directory: &Path,
    branch: &PublishedBranch,
) -> Result<Result<(), Option<WorktreeError>>, StoreError> {
    let (name, all) = (team.name().clone(), worktrees.clone());
    let (from, wanted) = (directory.to_owned(), branch.clone());
    let wanted = blocking(move || all.wants(&from, &name, &wanted)).await;
    let bundle = match wanted {
        Ok(Wanted::Nothing) => return Ok(Ok(())),
        Ok(Wanted::Record) => None,
        Ok(Wanted::Bundle) => {
            let bundle = match &branch.bundle {
                Some(bundle) => team.blob(bundle).await?,
                None => None,
            };
            if bundle.is_none() {
                return Ok(Err(None));
            }
            bundle
        }
        Err(why) => return Ok(Err(Some(why))),
    };
    let (name, all) = (team.name().clone(), worktrees.clone());
    let (from, branch) = (directory.to_owned(), branch.clone());
    let fetched = blocking(move || all.fetch(&from, &name, &branch, bundle.as_deref())).await;
    Ok(fetched.map(drop).map_err(Some))
}
