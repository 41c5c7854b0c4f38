//! Waiting for the end of a pane's process.

use std::time::Duration;

use super::backend::TmuxBackend;
use crate::process::Process;
use crate::{Pane, PaneError, PaneStatus};

/// Pauses between looks at a pane whose process has ended but whose status tmux has not collected yet. The kernel
/// woke us; tmux was woken by the same event and needs a moment.
const COLLECTING: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 300];

/// See [`crate::PaneBackend::exited`].
pub(crate) async fn exited(backend: &TmuxBackend, pane: &Pane) -> Result<PaneStatus, PaneError> {
    let PaneStatus::Running { pid } = backend.look(pane).await? else {
        return backend.look(pane).await;
    };
    let unwatchable = |e| PaneError::io("watch the process in", pane.id.as_str().as_ref(), e);
    if let Some(process) = Process::running(pid) {
        // Between the first look and this the pid may have been given away; the start time read here would then be
        // a stranger's, so the pane must still name it.
        let now = backend.look(pane).await?;
        if now != (PaneStatus::Running { pid }) {
            return Ok(now);
        }
        process.ended().await.map_err(unwatchable)?;
    }
    for pause in COLLECTING {
        let now = backend.look(pane).await?;
        if now != (PaneStatus::Running { pid }) {
            return Ok(now);
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    Ok(PaneStatus::Dead {
        code: None,
        signal: None,
    })
}
