//! Running file work off the runtime's threads.

use crate::{ToolContext, ToolOutput};

/// Runs `work` on a thread that may block. When the call is interrupted, its result is dropped.
pub(crate) async fn run(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> ToolOutput + Send + 'static,
) -> ToolOutput {
    let inner = ctx.clone();
    let task = tokio::task::spawn_blocking(move || work(&inner));
    match task.await {
        Ok(output) => output,
        Err(error) => ToolOutput::error(format!("The tool failed inside: {error}")),
    }
}
