//! Merges the work of members.

use std::path::Path;

use async_trait::async_trait;
use swarm_team::WorkMerger;
use swarm_worktree::{MergeMode, Worktrees};

use crate::spawn::blocking;

/// Merges the branches of worktrees with git, or leaves that to a person if configured.
#[derive(Debug, Clone)]
pub struct WorktreeMerger(pub Worktrees);

#[async_trait]
impl WorkMerger for WorktreeMerger {
    async fn merge(&self, worktree: &Path) -> Result<(), String> {
        if self.0.settings().merge == MergeMode::Manual {
            return Ok(());
        }
        let (worktrees, path) = (self.0.clone(), worktree.to_owned());
        let merged = blocking(move || {
            let Some(record) = worktrees.find(&path)? else {
                return Ok(None);
            };
            if record.by_hook {
                return Ok(Some(None));
            }
            let merged = worktrees.merge(&record.from, &record.slug);
            merged.map(|merged| Some(Some(merged)))
        });
        match merged.await {
            // A worktree of a hook is not managed by git, so its branch cannot be merged.
            Ok(Some(None)) => Ok(()),
            Ok(Some(Some(merged))) => {
                tracing::info!(branch = %merged.branch, target = %merged.target, outcome = merged.outcome.name(), "merged");
                Ok(())
            }
            Ok(None) => Err(format!(
                "{} is no longer a swarm worktree, so its work cannot be located; tell the team lead",
                worktree.display()
            )),
            Err(error) => Err(error.to_string()),
        }
    }
}
