//! The `EnterPlanMode` tool.

use async_trait::async_trait;
use serde_json::Value;
use swarm_protocol::{PermissionMode, ToolKind};

use crate::parameters::{NoParameters, parse, schema};
use crate::{Tool, ToolContext, ToolOutput, prompt};

/// Switches to plan mode, which is read-only until a plan is approved.
#[derive(Debug, Clone, Copy, Default)]
pub struct EnterPlanMode;

#[async_trait]
impl Tool for EnterPlanMode {
    fn name(&self) -> &'static str {
        "EnterPlanMode"
    }

    fn description(&self) -> String {
        prompt!("tools/EnterPlanMode").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<NoParameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Own
    }

    fn one_line(&self, _input: &Value) -> String {
        "EnterPlanMode".into()
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        if let Err(why) = parse::<NoParameters>("EnterPlanMode", input) {
            return ToolOutput::error(why);
        }
        let Some(modes) = &ctx.modes else {
            return ToolOutput::error("Your permission mode cannot be changed here.");
        };
        if modes.mode() == PermissionMode::Plan {
            return ToolOutput::error(
                "You are already in plan mode. Complete the plan, then call ExitPlanMode with it.",
            );
        }
        modes.enter_plan();
        ToolOutput::ok(
            "You are now in plan mode: calls that change something are refused. Explore as much as you need, then call ExitPlanMode with the plan. A person decides on it.",
            "mode plan",
        )
    }
}
