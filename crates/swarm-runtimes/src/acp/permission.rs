//! `session/request_permission`: decided like a call of swarm's own agent.

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::Turn;

use super::calls::{Announced, announced};
use super::decisions::Decisions;

/// Decides about a call and returns the result of the request.
pub(super) async fn decide(turn: &Turn<'_>, params: &Value, decisions: &Mutex<Decisions>) -> Value {
    let Announced { calls, writes } = announced(&params["toolCall"], &turn.parts().tool_context);
    let mut refusal = None;
    for call in &calls {
        match turn.permit(call).await {
            Ok(input) if input == call.input => {}
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
    if turn.signals().cancel.is_cancelled() {
        return json!({"outcome": {"outcome": "cancelled"}});
    }
    let kinds = match &refusal {
        None => ["allow_once", "allow_always"],
        Some(_) => ["reject_once", "reject_always"],
    };
    let mut decisions = decisions.lock();
    match refusal {
        None => decisions.approved_writes.extend(writes),
        Some(why) => {
            let title = params["toolCall"]["title"].as_str().unwrap_or("a call");
            decisions
                .notes
                .push(format!("[About your call `{title}`: {why}]"));
        }
    }
    let options = params["options"].as_array();
    let options = options.map_or(&[][..], Vec::as_slice);
    let option = kinds
        .iter()
        .find_map(|kind| options.iter().find(|option| option["kind"] == *kind));
    match option {
        Some(option) => {
            json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
        }
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}
