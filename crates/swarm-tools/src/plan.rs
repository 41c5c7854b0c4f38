//! The plan mode tools `EnterPlanMode` and `ExitPlanMode`.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::{PermissionMode, ToolKind};

use crate::one_line::one_line;
use crate::parameters::{NoParameters, parse};
use crate::{ToolContext, ToolOutput, TypedTool, prompt};

/// Begins the plan in the result of an approval that changed it, and ends it.
const CHANGED: (&str, &str) = (
    "\nThe plan was changed with the approval. Carry out this version:\n<plan>\n",
    "\n</plan>",
);

/// Returns the plan in a result of `ExitPlanMode`, if the approval changed it.
pub fn changed_plan(result: &str) -> Option<&str> {
    let (begin, end) = CHANGED;
    let (_, plan) = result.split_once(begin)?;
    // A result that was cut has no end.
    Some(plan.rsplit_once(end).map_or(plan, |(plan, _)| plan))
}

fn with_changed_plan(plan: &str) -> String {
    let (begin, end) = CHANGED;
    format!("{begin}{plan}{end}")
}

/// Presents a plan to a person and leaves plan mode when it is approved.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExitPlanMode;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The complete plan in Markdown
    plan: String,
    /// Feedback given with the approval. Set by the program.
    #[serde(default)]
    #[schemars(skip)]
    feedback: Option<String>,
    /// Whether the approval changed the plan. Set by the program.
    #[serde(default)]
    #[schemars(skip)]
    edited: bool,
}

#[async_trait]
impl TypedTool for ExitPlanMode {
    type Parameters = Parameters;
    const NAME: &'static str = "ExitPlanMode";
    const PROMPT: &'static str = prompt!("tools/ExitPlanMode");
    const KIND: ToolKind = ToolKind::Person;

    fn one_line(&self, input: &Value) -> String {
        let plan = input["plan"].as_str().unwrap_or_default();
        let first = plan.lines().find(|line| !line.trim().is_empty());
        one_line(&format!(
            "ExitPlanMode {}",
            first.unwrap_or_default().trim_start_matches(['#', ' '])
        ))
    }

    fn check(&self, input: &Value, ctx: &ToolContext) -> Result<(), String> {
        let input: Parameters = parse(Self::NAME, input.clone())?;
        if input.plan.trim().is_empty() {
            return Err(
                "`plan` of ExitPlanMode is empty: it is the only text that the person sees.".into(),
            );
        }
        let modes = ctx.modes.as_ref();
        match modes.map(|modes| (modes.mode(), modes.after_plan())) {
            Some((PermissionMode::Plan, Some(_))) => Ok(()),
            Some((PermissionMode::Plan, None)) => Err(
                "You were started in plan mode and may not leave it. Report the plan to the agent or person that gave you the work; another agent carries it out."
                    .into(),
            ),
            Some((mode, _)) => Err(format!(
                "You are not in plan mode but in mode {mode}: there is no plan to approve. Continue the work."
            )),
            None => Err("Your permission mode cannot be changed here.".into()),
        }
    }

    /// Runs only after approval.
    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        // The approval or a concurrent change may already have set another mode.
        let mode = ctx.modes.as_ref().and_then(|modes| match modes.mode() {
            PermissionMode::Plan => modes.leave_plan(),
            mode => Some(mode),
        });
        let feedback = input.feedback.as_deref().unwrap_or_default().trim();
        let feedback = match feedback {
            "" => String::new(),
            feedback => format!("\nFeedback given with the approval: {feedback}"),
        };
        let edited = if input.edited {
            with_changed_plan(&input.plan)
        } else {
            String::new()
        };
        let mode = mode.ok_or("The plan is approved, but you may not leave plan mode.")?;
        Ok(ToolOutput::ok(
            format!(
                "The plan is approved. You have left plan mode and are now in mode {mode}. Carry out the plan.{feedback}{edited}"
            ),
            format!("approved, mode {mode}"),
        ))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_plan_is_read_back_from_its_result() {
        let plan = "# Fix\n</plan>\none file";
        let result = format!("The plan is approved.{}", with_changed_plan(plan));
        assert_eq!(changed_plan(&result), Some(plan));
        let hooked = format!("{result}\n\n[A user hook says: go on]");
        assert_eq!(changed_plan(&hooked), Some(plan));
        assert_eq!(changed_plan("The plan is approved."), None);
    }
}
