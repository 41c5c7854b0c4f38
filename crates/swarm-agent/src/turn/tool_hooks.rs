//! The user's hooks after tool calls.

use std::time::Duration;

use serde_json::{Value, json};
use swarm_hooks::HookOutcome;
use swarm_model::ContentBlock;
use swarm_permissions::HookEvent;
use swarm_protocol::Envelope;
use swarm_tools::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::hooks::add_context;
use super::step::{Call, CallInput};
use super::types::{Refusal, TurnStop};
use crate::Session;
use crate::transcript::Entry;

pub(super) struct FinishedCall<'a> {
    pub(super) id: &'a str,
    pub(super) tool: &'a str,
    pub(super) input: Value,
    pub(super) duration: Duration,
}

impl Session {
    /// Runs the hooks on the result of a call and adds their context to it.
    pub(super) async fn run_result_hooks(
        &self,
        call: FinishedCall<'_>,
        mut output: ToolOutput,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let mut fields = json!({
            "tool_name": call.tool,
            "tool_input": call.input,
            "tool_use_id": call.id,
            "duration_ms": u64::try_from(call.duration.as_millis()).unwrap_or(u64::MAX),
        });
        let event = if output.is_error {
            fields["error"] = json!(output.content);
            fields["is_interrupt"] = json!(cancel.is_cancelled());
            HookEvent::PostToolUseFailure
        } else {
            fields["tool_response"] = output.response();
            HookEvent::PostToolUse
        };
        let outcome = if cancel.is_cancelled() {
            // An interrupted turn waits for hooks no longer than for a call.
            let own = CancellationToken::new();
            let hooks = self.fire(event, Some(call.tool), fields, &own);
            let outcome = tokio::time::timeout(self.parts.limits.cancel_grace, hooks).await;
            outcome.unwrap_or_default()
        } else {
            self.fire(event, Some(call.tool), fields, cancel).await
        };
        if let Some(why) = &outcome.stop {
            self.halt(why);
        }
        add_context(&mut output, outcome.block.iter().chain(&outcome.context));
        output
    }

    /// Returns the error for a call that is not run. `PermissionDenied` hooks can allow a retry of
    /// a denied call.
    pub(super) async fn refused(
        &self,
        call: &Call,
        refusal: Refusal,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let tool = self.tool_name(call);
        let mut retry = false;
        if let Refusal::Denied(why) = &refusal {
            let fields = json!({
                "tool_name": tool,
                "tool_input": input(call),
                "tool_use_id": call.id,
                "reason": why,
            });
            let event = HookEvent::PermissionDenied;
            retry = self.fire(event, Some(tool), fields, cancel).await.retry;
        }
        let mut text = refusal.text();
        if retry {
            text.push_str(" A user hook says that you may try this call again.");
        }
        ToolOutput::error(text)
    }

    pub(super) fn batch_hook_input(&self, call: &Call, output: &ToolOutput) -> Option<Value> {
        let hooked = self.parts.hooks.any(HookEvent::PostToolBatch, None);
        hooked.then(|| {
            json!({
                "tool_name": self.tool_name(call),
                "tool_input": input(call),
                "tool_use_id": call.id,
                "tool_response": output.response(),
            })
        })
    }

    /// Runs the batch hooks on all calls of one response before the next request.
    pub(super) async fn run_batch_hooks(
        &mut self,
        calls: Vec<Value>,
        cancel: &CancellationToken,
    ) -> Result<(), TurnStop> {
        if calls.is_empty() {
            return Ok(());
        }
        let fields = json!({"tool_calls": calls});
        let outcome = self
            .fire(HookEvent::PostToolBatch, None, fields, cancel)
            .await;
        if let Some(text) = context(&outcome) {
            self.append(Entry::user(vec![ContentBlock::text(text)]))?;
        }
        match outcome.stop.or(outcome.block) {
            Some(why) => Err(TurnStop::Halted(why)),
            None => Ok(()),
        }
    }
}

/// Returns the context that hooks add to the conversation.
fn context(outcome: &HookOutcome) -> Option<String> {
    let said = outcome.context.join("\n");
    (!said.is_empty()).then(|| Envelope::system(&format!("A user hook says:\n{said}")).render())
}

/// Returns the input as the model wrote it.
fn input(call: &Call) -> Value {
    match &call.input {
        CallInput::Object(input) => input.clone(),
        CallInput::Unreadable(raw) => json!(raw),
        CallInput::CutOff => Value::Null,
    }
}
