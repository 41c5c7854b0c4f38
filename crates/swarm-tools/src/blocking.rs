//! Runs blocking file operations outside the runtime's threads.

use crate::{ToolContext, ToolOutput};

/// Runs `work` on the blocking pool. If the call is interrupted, the result is dropped.
pub(crate) async fn run(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<ToolOutput, String> + Send + 'static,
) -> Result<ToolOutput, String> {
    let inner = ctx.clone();
    let done = tokio::task::spawn_blocking(move || work(&inner)).await;
    done.unwrap_or_else(|error| Err(format!("Internal error of the tool: {error}")))
}
