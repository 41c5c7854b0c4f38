//! Foreground runs of sub-agents.

use std::time::Duration;

use swarm_tools::ToolOutput;
use tokio_util::sync::CancellationToken;

use crate::or_never;
use crate::subagent::{Link, Parent, SubAgents, completed, launched};

/// Waits until a sub-agent has ended or has moved to the background.
pub(super) async fn wait(
    agents: &SubAgents,
    parent: &Parent,
    record: Link,
    cancel: &CancellationToken,
) -> ToolOutput {
    let limits = agents.limits();
    let too_long = or_never(limits.background_after().map(tokio::time::sleep));
    tokio::pin!(too_long);
    let mut waits = true;
    loop {
        let over = record.until(|view| view.settled || view.background);
        tokio::select! {
            () = over => break,
            () = &mut too_long, if waits => {
                waits = false;
                agents.send_to_background(Some(&record.id));
            }
            () = cancel.cancelled(), if !record.view().background => {
                record.parent_left();
                // The sub-agent stops within its own grace period; if the turn's is shorter, this
                // call is dropped earlier.
                let _late = tokio::time::timeout(Duration::from_mins(1), record.until(|view| view.settled)).await;
                break;
            }
        }
    }
    if record.view().background {
        launched(&record, parent.can_read(&record.output()))
    } else {
        completed(&record, limits.output_chars)
    }
}
