//! Publishing the branch of a member.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use swarm_protocol::{Clock, MemberName, PublishedBranch, SpawnId, TaskId};
use swarm_store::{StoreError, StoreLimits, Team};
use swarm_team::{MergeError, PreparedMerge, WorkMerger};
use swarm_worktree::{OutgoingWork, Worktrees};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::merge_order::MergeOrder;
use super::ordered_merge::OrderedMerge;
use crate::merger::merge_error;
use crate::repositories::RepositoryError;
use crate::spawn::blocking;

/// Publishes the branch of a member, because the branch into which it is merged is on another
/// machine. A process of the lead there merges it; without one, a person does.
#[derive(Debug)]
pub struct BranchPublisher {
    worktrees: Worktrees,
    team: Arc<dyn Team>,
    member: MemberName,
    spawn: SpawnId,
    host: String,
    clock: Arc<dyn Clock>,
    /// Locked while a branch is published.
    publishing: Mutex<()>,
}

impl BranchPublisher {
    /// Creates a publisher for a spawn of a member on the machine with this name.
    pub fn new(
        worktrees: Worktrees,
        team: Arc<dyn Team>,
        (member, spawn): (MemberName, SpawnId),
        host: String,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            worktrees,
            team,
            member,
            spawn,
            host,
            clock,
            publishing: Mutex::default(),
        }
    }

    /// Publishes what is new. Returns the work, if there is any.
    async fn publish_new(&self, worktree: &Path) -> Result<Option<OutgoingWork>, RepositoryError> {
        let _publishing = self.publishing.lock().await;
        let before = self.published_before().await?;
        let (worktrees, path) = (self.worktrees.clone(), worktree.to_owned());
        let Some(work) = blocking(move || worktrees.outgoing(&path)).await? else {
            return Ok(None);
        };
        let has_news = work.has_commits() || !work.uncommitted.is_empty();
        if !has_news && before.is_none() {
            return Ok(None);
        }
        let branch = self.described(&work, before.as_ref()).await?;
        let is_known = before.is_some_and(|before| {
            let published_at = branch.published_at;
            let before = PublishedBranch {
                published_at,
                // The store keeps it.
                merged: None,
                ..before
            };
            before == branch
        });
        if !is_known {
            self.team.publish_branch(&branch).await?;
        }
        Ok(Some(work))
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
            merged: None,
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
    /// The work is published before the task is completed.
    async fn prepare(
        &self,
        worktree: &Path,
        task: TaskId,
        cancel: &CancellationToken,
    ) -> Result<Option<Box<dyn PreparedMerge>>, MergeError> {
        let work = self.publish_new(worktree).await?;
        let ordered = work.filter(OutgoingWork::has_commits).map(|work| {
            Box::new(OrderedMerge {
                worktrees: self.worktrees.clone(),
                team: Arc::clone(&self.team),
                order: MergeOrder {
                    member: self.member.clone(),
                    spawn: self.spawn,
                    task,
                    commit: work.commit,
                },
                worktree: work.record.path,
                cancel: cancel.clone(),
            }) as _
        });
        Ok(ordered)
    }

    async fn publish(&self, worktree: &Path) -> Result<(), MergeError> {
        self.publish_new(worktree).await?;
        Ok(())
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
