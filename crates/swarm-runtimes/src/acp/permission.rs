//! `session/request_permission`: decided like a call of swarm's own agent.

use serde_json::{Value, json};
use swarm_agent::Turn;
use tokio_util::sync::CancellationToken;

use super::calls::{Announced, announced};
use super::mcp_calls::mcp_call;
use crate::approvals::Approvals;
use crate::handed_server::handed_names;

/// A decision about a call.
pub(super) struct Decided {
    pub(super) result: Value,
    /// Why the call must not run, for the next prompt: the protocol's response has no text.
    pub(super) note: Option<String>,
}

/// Decides about a call. `cancel` withdraws the question.
pub(super) async fn decide(
    turn: &Turn<'_>,
    params: &Value,
    approvals: &Approvals,
    cancel: &CancellationToken,
) -> Decided {
    let (call, parts) = (&params["toolCall"], turn.parts());
    let handed = handed_names(&parts.tools);
    let announced = mcp_call(call, &handed).unwrap_or_else(|| announced(call, &parts.tool_context));
    let Announced { calls, runs } = announced;
    let (mut refusal, mut changed) = (None, None);
    for call in &calls {
        match turn.permit(call, cancel).await {
            Ok(input) if input == call.input => {}
            // swarm runs this call, the only one of its request.
            Ok(input) if handed.contains(&call.tool.as_str()) => changed = Some(input),
            // The agent runs its own call, so another input cannot be approved.
            Ok(input) => {
                refusal = Some(format!(
                    "The call was not run, because only another input was approved: {input}"
                ));
                break;
            }
            Err(why) => {
                refusal = Some(why);
                break;
            }
        }
    }
    if cancel.is_cancelled() {
        return Decided {
            result: json!({"outcome": {"outcome": "cancelled"}}),
            note: None,
        };
    }
    let kinds = match &refusal {
        None => ["allow_once", "allow_always"],
        Some(_) => ["reject_once", "reject_always"],
    };
    if refusal.is_none() {
        for (tool, asked) in runs {
            let approved = changed.take().unwrap_or_else(|| asked.clone());
            approvals.add(&tool, asked, approved);
        }
    }
    let title = params["toolCall"]["title"].as_str().unwrap_or("a call");
    let options = params["options"].as_array();
    let options = options.map_or(&[][..], Vec::as_slice);
    let option = kinds
        .iter()
        .find_map(|kind| options.iter().find(|option| option["kind"] == *kind));
    Decided {
        result: match option {
            Some(option) => {
                json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
            }
            None => json!({"outcome": {"outcome": "cancelled"}}),
        },
        note: refusal.map(|why| format!("[About your call `{title}`: {why}]")),
    }
}
