//! The user's hooks behind calls.

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

/// A call that ran.
pub(super) struct Ran<'a> {
    pub(super) id: &'a str,
    pub(super) tool: &'a str,
    pub(super) input: Value,
    pub(super) duration: Duration,
}

impl Session {
    /// Lets hooks look at the result of a call; what they say stands behind it.
    pub(super) async fn looked_at_by_hooks(
        &self,
        ran: Ran<'_>,
        mut output: ToolOutput,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let mut fields = json!({
            "tool_name": ran.tool,
            "tool_input": ran.input,
            "tool_use_id": ran.id,
            "duration_ms": u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
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
            // The end of the turn does not wait for hooks any longer than for the call.
            let own = CancellationToken::new();
            let hooks = self.fire(event, Some(ran.tool), fields, &own);
            let outcome = tokio::time::timeout(self.parts.limits.cancel_grace, hooks).await;
            outcome.unwrap_or_default()
        } else {
            self.fire(event, Some(ran.tool), fields, cancel).await
        };
        if let Some(why) = &outcome.stop {
            self.halt(why);
        }
        add_context(&mut output, outcome.block.iter().chain(&outcome.context));
        output
    }

    /// What the model is told of a call that does not run. Hooks hear of one that was denied, and may say that it is worth
    /// another attempt.
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
            text.push_str(" A hook of the user says that you may try this call again.");
        }
        ToolOutput::error(text)
    }

    /// A call and its result for the hooks of the whole batch.
    pub(super) fn told_of_batch(&self, call: &Call, output: &ToolOutput) -> Option<Value> {
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

    /// Lets hooks look at all calls of one answer before the model is asked again.
    pub(super) async fn looked_at_together(
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

/// What hooks add to the conversation.
fn context(outcome: &HookOutcome) -> Option<String> {
    let said = outcome.context.join("\n");
    (!said.is_empty())
        .then(|| Envelope::system(&format!("A hook of the user says:\n{said}")).render())
}

/// The input as the model wrote it.
fn input(call: &Call) -> Value {
    match &call.input {
        CallInput::Object(input) => input.clone(),
        CallInput::Unreadable(raw) => json!(raw),
        CallInput::CutOff => Value::Null,
    }
}
