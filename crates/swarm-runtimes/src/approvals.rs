//! Calls that were approved when an agent program asked about them.

use parking_lot::Mutex;
use serde_json::Value;

/// Calls that swarm makes for the program, each once, without a second question.
#[derive(Debug, Default)]
pub(crate) struct Approvals(Mutex<Vec<Approval>>);

#[derive(Debug)]
struct Approval {
    tool: String,
    /// The input with which the program makes the call.
    asked: Value,
    /// The input with which swarm runs it. A person or a hook may have changed it.
    approved: Value,
}

impl Approvals {
    pub(crate) fn add(&self, tool: &str, asked: Value, approved: Value) {
        self.0.lock().push(Approval {
            tool: tool.to_owned(),
            asked,
            approved,
        });
    }

    /// Removes the approval of this call and returns the approved input.
    pub(crate) fn take(&self, tool: &str, asked: &Value) -> Option<Value> {
        let mut approvals = self.0.lock();
        let found = approvals
            .iter()
            .position(|known| known.tool == tool && known.asked == *asked)?;
        Some(approvals.remove(found).approved)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_approval_is_for_one_call_with_the_input_that_was_asked_about() {
        let approvals = Approvals::default();
        let (asked, approved) = (json!({"text": "a"}), json!({"text": "b"}));
        approvals.add("mcp__kit__echo", asked.clone(), approved.clone());
        assert_eq!(approvals.take("mcp__kit__echo", &approved), None);
        assert_eq!(approvals.take("mcp__kit__other", &asked), None);
        assert_eq!(approvals.take("mcp__kit__echo", &asked), Some(approved));
        assert_eq!(approvals.take("mcp__kit__echo", &asked), None);
    }
}
