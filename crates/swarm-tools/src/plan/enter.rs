//! The `EnterPlanMode` tool.

use async_trait::async_trait;
use swarm_protocol::{PermissionMode, ToolKind};

use crate::parameters::NoParameters;
use crate::{ToolContext, ToolOutput, TypedTool, prompt};

/// Switches to plan mode, which is read-only until a plan is approved.
#[derive(Debug, Clone, Copy, Default)]
pub struct EnterPlanMode;

#[async_trait]
impl TypedTool for EnterPlanMode {
    type Parameters = NoParameters;
    const NAME: &'static str = "EnterPlanMode";
    const PROMPT: &'static str = prompt!("tools/EnterPlanMode");
    const KIND: ToolKind = ToolKind::Own;

    async fn call(&self, _input: NoParameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let modes = ctx.modes.as_ref();
        let modes = modes.ok_or("Your permission mode cannot be changed here.")?;
        if modes.mode() == PermissionMode::Plan {
            return Err(
                "You are already in plan mode. Complete the plan, then call ExitPlanMode with it."
                    .into(),
            );
        }
        modes.enter_plan();
        Ok(ToolOutput::ok(
            "You are now in plan mode: calls that change something are refused. Explore as much as you need, then call ExitPlanMode with the plan. A person decides on it.",
            "mode plan",
        ))
    }
}
