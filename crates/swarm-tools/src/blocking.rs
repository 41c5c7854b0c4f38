//! Runs blocking file operations outside the runtime's threads.

use crate::{ToolContext, ToolOutput};

/// Runs `work` on the blocking pool. If the call is interrupted, the result is dropped.
pub(crate) async fn run(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> ToolOutput + Send + 'static,
) -> ToolOutput {
    let inner = ctx.clone();
    let task = tokio::task::spawn_blocking(move || work(&inner));
    match task.await {
        Ok(output) => output,
        Err(error) => ToolOutput::error(format!("Internal error of the tool: {error}")),
    }
}
