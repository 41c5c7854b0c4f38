//! Waiting for the end of a pane's process.

use super::backend::TmuxBackend;
use crate::{Pane, PaneError, PaneStatus};
use swarm_os::process::Process;

/// See [`crate::PaneBackend::exited`]. The kernel wakes us, then tmux is asked what is left.
pub(crate) async fn exited(backend: &TmuxBackend, pane: &Pane) -> Result<PaneStatus, PaneError> {
    let unwatchable = |e| PaneError::io("watch the process in", pane.id.as_str().as_ref(), e);
    let started = backend.child_in(pane);
    let started = started.and_then(|child| Process::running_child(child.pid, child.server));
    if let Some(process) = started {
        process.ended().await.map_err(unwatchable)?;
        return backend.look(pane).await;
    }
    let first = backend.look(pane).await?;
    let PaneStatus::Running { pid } = first else {
        return Ok(first);
    };
    if let Some(process) = Process::running(pid) {
        // Between the first look and this the pid may have been given away; the start time read here would then be
        // a stranger's, so the pane must still name it.
        let second = backend.look(pane).await?;
        if second != first {
            return Ok(second);
        }
        process.ended().await.map_err(unwatchable)?;
    }
    backend.look(pane).await
}
