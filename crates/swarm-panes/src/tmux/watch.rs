//! Waits for the exit of a pane's process.

use super::backend::TmuxBackend;
use crate::{Pane, PaneError, PaneStatus};
use swarm_os::process::Process;

/// See [`crate::PaneBackend::exited`]. The kernel wakes this task, then tmux is queried for the
/// remaining state.
pub(crate) async fn exited(backend: &TmuxBackend, pane: &Pane) -> Result<PaneStatus, PaneError> {
    let unwatchable = |e| PaneError::io("watch the process in", pane.id.as_str().as_ref(), e);
    let started = backend.child_in(pane);
    let started = started.and_then(|child| Process::running_child(child.pid, child.server));
    if let Some(process) = started {
        process.ended().await.map_err(unwatchable)?;
        return backend.current_status(pane).await;
    }
    let first = backend.current_status(pane).await?;
    let PaneStatus::Running { pid } = first else {
        return Ok(first);
    };
    if let Some(process) = Process::running(pid) {
        // The pid may have been reused since the first query; the start time read here would then
        // belong to another process, so the pane must still have this pid.
        let second = backend.current_status(pane).await?;
        if second != first {
            return Ok(second);
        }
        process.ended().await.map_err(unwatchable)?;
    }
    backend.current_status(pane).await
}
