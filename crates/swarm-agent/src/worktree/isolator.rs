//! Worktrees for sub-agents with `isolation: worktree`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_protocol::{Clock, SubAgentId};
use swarm_worktree::{
    FormerOwner, Owner, ProcessMark, Request, Resident, Slug, WorktreeError, WorktreeOutcome,
    Worktrees, moved_notice, worktree_notice,
};
use tokio_util::sync::CancellationToken;

/// The isolated directory of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IsolatedDirectory {
    /// Working directory of the sub-agent, at or below `root`.
    pub(crate) path: PathBuf,
    /// Top of the isolated directory; the sub-agent writes nothing outside it.
    pub(crate) root: PathBuf,
    /// Git branch that is checked out in it, if any.
    pub(crate) branch: Option<String>,
    /// Text for the sub-agent after its prompt; may be empty.
    pub(crate) notice: String,
    /// Content that exists nowhere else, after the sub-agent has ended.
    pub(crate) holds: Vec<String>,
}

/// Creates git worktrees for sub-agents, and removes those without unsaved work.
#[derive(Debug, Clone)]
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

    /// Creates a directory for a sub-agent whose parent works in `from`, or finds its existing one.
    /// The error is for the model.
    pub(crate) async fn prepare(
        &self,
        id: &SubAgentId,
        from: &Path,
        cancel: &CancellationToken,
    ) -> Result<IsolatedDirectory, String> {
        let slug = Slug::of_agent(id.as_str()).map_err(|error| error.to_string())?;
        let request = self.request(from, slug, owner(id), cancel);
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

    /// Removes the directory of a sub-agent that has ended, unless its content would be lost.
    /// Returns the directory if it was kept.
    pub(crate) async fn clean_up(
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
