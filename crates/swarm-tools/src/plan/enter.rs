//! The `EnterPlanMode` tool.

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::{PermissionMode, ToolKind};

use crate::input::Input;
use crate::{Tool, ToolContext, ToolOutput};

/// Gives up every right but reading, until a person has agreed to a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct EnterPlanMode;

#[async_trait]
impl Tool for EnterPlanMode {
    fn name(&self) -> &'static str {
        "EnterPlanMode"
    }

    fn description(&self) -> String {
        "Switches to plan mode, in which you look and think and change nothing. Use it before work that is large, risky \
         or can be done in several ways. Look around, then put the plan before a person with ExitPlanMode."
            .into()
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Own
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    fn one_line(&self, _input: &Value) -> String {
        "EnterPlanMode".into()
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        if let Err(why) = Input::new("EnterPlanMode", &input, &[]) {
            return ToolOutput::error(why);
        }
        let Some(modes) = &ctx.modes else {
            return ToolOutput::error("Your permission mode cannot be changed here.");
        };
        if modes.mode() == PermissionMode::Plan {
            return ToolOutput::error(
                "You are in plan mode already. Work the plan out, then call ExitPlanMode with it.",
            );
        }
        modes.enter_plan();
        ToolOutput::ok(
            "You are in plan mode now: calls that change something are refused. Look around as much as you need, then \
             call ExitPlanMode with the plan. A person reads it and decides.",
            "mode plan",
        )
    }
}
