//! The worktree that an agent has entered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use swarm_tools::{Confinement, Workplace};
use swarm_worktree::{Created, Owner, Slug, WorktreeError};
use tokio_util::sync::CancellationToken;

use super::WorktreeIsolator;

/// Tracks the worktree that an agent works in.
#[derive(Debug)]
pub(super) struct SessionWorktree {
    pub(super) source: WorktreeIsolator,
    pub(super) origin: PathBuf,
    pub(super) entered: Mutex<Option<Entered>>,
}

#[derive(Debug, Clone)]
pub(super) struct Entered {
    pub(super) created: Created,
    /// Determined on entry, because the agent can change the files later.
    confine: Arc<Confinement>,
}

impl Entered {
    pub(super) fn new(created: Created) -> Self {
        Self {
            confine: Arc::new(Confinement::new(&created.record.path)),
            created,
        }
    }
}

impl SessionWorktree {
    pub(super) fn entered(&self) -> MutexGuard<'_, Option<Entered>> {
        self.entered.lock()
    }

    /// Returns the current directory of an agent that began in `origin`; `None` if it has not
    /// moved.
    pub(super) fn moved_from(&self, origin: &Path) -> Option<Workplace> {
        let entered = self.entered();
        let entered = entered.as_ref().filter(|_| self.origin == origin);
        entered.map(|entered| Workplace {
            cwd: entered.created.cwd.clone(),
            confine: Arc::clone(&entered.confine),
        })
    }

    /// Creates a worktree or reuses an existing one. Undone if the call is cancelled.
    pub(super) fn create(
        &self,
        from: &Path,
        slug: Slug,
        cancel: &CancellationToken,
    ) -> Result<Created, WorktreeError> {
        let request = self.source.request(from, slug, Owner::default(), cancel);
        let created = self.source.worktrees.create(&request)?;
        if cancel.is_cancelled() {
            self.source.worktrees.undo(&created)?;
            let slug = created.record.slug.to_string();
            return Err(WorktreeError::Interrupted(slug));
        }
        Ok(created)
    }
}
