//! Worktrees for sub-agents with `isolation: worktree`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{Clock, SubAgentId};
use swarm_worktree::{
    FormerOwner, Owner, ProcessMark, Request, Resident, Slug, WorktreeError, WorktreeOutcome,
    Worktrees, moved_notice, worktree_notice,
};
use tokio_util::sync::CancellationToken;

use crate::subagent::{IsolatedDirectory, Isolator};

/// Creates git worktrees for sub-agents, and removes those without unsaved work.
#[derive(Debug)]
pub struct WorktreeIsolator {
    /// Creates and removes the worktrees.
    pub worktrees: Worktrees,
    /// Time source for their records.
    pub clock: Arc<dyn Clock>,
    /// Identity of this process.
    pub process: ProcessMark,
}

impl WorktreeIsolator {
    pub(super) fn request(
        &self,
        from: &Path,
        slug: Slug,
        owner: Owner,
        cancel: &CancellationToken,
    ) -> Request {
        Request {
            from: from.to_owned(),
            slug,
            owner,
            process: self.process.clone(),
            uncommitted: None,
            now: self.clock.now(),
            cancel: cancel.clone(),
        }
    }
}

#[async_trait]
impl Isolator for WorktreeIsolator {
    async fn prepare(
        &self,
        id: &SubAgentId,
        from: &Path,
        cancel: CancellationToken,
    ) -> Result<IsolatedDirectory, String> {
        let slug = Slug::of_agent(id.as_str()).map_err(|error| error.to_string())?;
        let request = self.request(from, slug, owner(id), &cancel);
        let worktrees = self.worktrees.clone();
        let created = blocking(move || worktrees.create(&request)).await?;
        if cancel.is_cancelled() {
            let worktrees = self.worktrees.clone();
            blocking(move || worktrees.undo(&created)).await?;
            return Err("the creation of the worktree was interrupted".to_owned());
        }
        let notice = format!(
            "{}\n\n{}",
            moved_notice(from, &created.cwd),
            worktree_notice(&created, Resident::SubAgent)
        );
        Ok(IsolatedDirectory {
            path: created.cwd,
            root: created.record.path,
            branch: created.branch,
            notice,
            holds: Vec::new(),
        })
    }

    async fn clean_up(
        &self,
        id: &SubAgentId,
        directory: IsolatedDirectory,
    ) -> Option<IsolatedDirectory> {
        let (worktrees, now) = (self.worktrees.clone(), self.clock.now());
        let path = directory.path.clone();
        let former_owner = FormerOwner {
            owner: owner(id),
            process: Some(self.process.clone()),
        };
        match blocking(move || worktrees.finish(&path, &former_owner, now)).await {
            Ok(Some(WorktreeOutcome::Removed(_))) => None,
            Ok(Some(WorktreeOutcome::Kept { why, .. })) => Some(IsolatedDirectory {
                holds: why.iter().map(ToString::to_string).collect(),
                ..directory
            }),
            Ok(None) => Some(directory),
            Err(why) => {
                tracing::warn!(agent = %id, why, "worktree kept");
                Some(IsolatedDirectory {
                    holds: vec![why],
                    ..directory
                })
            }
        }
    }
}

fn owner(id: &SubAgentId) -> Owner {
    Owner {
        agent: Some(id.to_string()),
        ..Owner::default()
    }
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(format!("internal error: {error}")),
    }
}
