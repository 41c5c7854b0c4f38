//! Runs one tool in isolation from the turn.

use std::any::Any;
use std::time::Duration;

use swarm_tools::{ToolContext, ToolOutput};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::types::PreparedCall;
use crate::history::INTERRUPTED;

/// Runs a tool in a separate task: a panic becomes an error result, and a call that does not end
/// within `grace` after the turn was interrupted is dropped.
pub(super) async fn run(ready: PreparedCall, context: ToolContext, grace: Duration) -> ToolOutput {
    let PreparedCall { tool, input, .. } = ready;
    let name = tool.name().to_owned();
    let cancel = context.cancel.clone();
    let mut task = JoinSet::new();
    task.spawn(async move { tool.call(input, &context).await });
    tokio::select! {
        biased;
        joined = task.join_next() => match joined {
            Some(Ok(output)) => output,
            Some(Err(error)) => panic_result(&name, error),
            // There is one task in the set.
            None => ToolOutput::error(INTERRUPTED),
        },
        () = overdue(&cancel, grace) => ToolOutput::error(INTERRUPTED),
    }
}

/// Resolves once `grace` has passed since `cancel` was cancelled.
pub(super) async fn overdue(cancel: &CancellationToken, grace: Duration) {
    cancel.cancelled().await;
    tokio::time::sleep(grace).await;
}

fn panic_result(name: &str, error: JoinError) -> ToolOutput {
    let Ok(payload) = error.try_into_panic() else {
        return ToolOutput::error(INTERRUPTED);
    };
    let what = panic_text(payload.as_ref());
    tracing::error!(tool = name, what, "a tool panicked");
    ToolOutput::error(format!(
        "{name} failed with an internal error ({what}). It may have run partially: check its effects before you repeat it."
    ))
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "no message"
    }
}
