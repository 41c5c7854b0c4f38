//! The merge of a published branch as a member sees it that completes a task.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use swarm_store::Team;
use swarm_team::{MergeError, PreparedMerge};
use swarm_worktree::{ExportedTarget, Worktrees};
use tokio_util::sync::CancellationToken;

use super::merge_order::{MergeOrder, MergeReply, SentTarget};
use crate::repositories::RepositoryError;
use crate::spawn::blocking;

/// A merge that the process of the lead carries out.
pub(super) struct OrderedMerge {
    pub(super) worktrees: Worktrees,
    pub(super) team: Arc<dyn Team>,
    pub(super) order: MergeOrder,
    /// The worktree of the member.
    pub(super) worktree: PathBuf,
    pub(super) cancel: CancellationToken,
}

#[async_trait]
impl PreparedMerge for OrderedMerge {
    /// The checks run here first, and then on the merge.
    async fn check_out(&mut self) -> Result<PathBuf, MergeError> {
        Ok(self.worktree.clone())
    }

    async fn apply(self: Box<Self>) -> Result<(), MergeError> {
        let given = self.order.give(&*self.team, &self.cancel).await;
        let reply = given.map_err(|error| MergeError::Refused(error.to_string()))?;
        match reply {
            None | Some(MergeReply::Merged) => Ok(()),
            Some(MergeReply::LeftToPerson(why)) => {
                tracing::info!(why, "the work was published and not merged");
                Ok(())
            }
            Some(MergeReply::Refused {
                why,
                awaited: Some(awaited),
                ..
            }) => Err(MergeError::TargetChanged { awaited, why }),
            Some(MergeReply::Refused {
                why, target: None, ..
            }) => Err(MergeError::Refused(why)),
            Some(MergeReply::Refused {
                why,
                target: Some(target),
                ..
            }) => {
                let branch = target.branch.clone();
                let told = match self.receive(target).await {
                    Ok(name) => format!("On this machine, {branch} is `{name}`"),
                    Err(error) => format!("{branch} was not sent to this machine: {error}"),
                };
                Err(MergeError::Refused(format!("{why}. {told}")))
            }
        }
    }
}

impl OrderedMerge {
    /// Receives the target with which the branch conflicts. Returns its name in this repository.
    async fn receive(&self, target: SentTarget) -> Result<String, RepositoryError> {
        let bundle = self.team.blob(&target.bundle).await?.unwrap_or_default();
        self.team.delete_blob(&target.bundle).await?;
        let (worktrees, path) = (self.worktrees.clone(), self.worktree.clone());
        let target = ExportedTarget {
            branch: target.branch,
            commit: target.commit,
            bundle,
        };
        Ok(blocking(move || worktrees.receive_target(&path, &target)).await?)
    }
}
