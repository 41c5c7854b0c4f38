//! Calls that were approved when an agent program asked about them.

use parking_lot::Mutex;
use serde_json::Value;

/// Tools and inputs of calls that swarm makes for the program, each once, without a second question.
#[derive(Debug, Default)]
pub(crate) struct Approvals(Mutex<Vec<(String, Value)>>);

impl Approvals {
    pub(crate) fn add(&self, tool: &str, input: Value) {
        self.0.lock().push((tool.to_owned(), input));
    }

    /// Returns whether this call was approved, and removes the approval.
    pub(crate) fn take(&self, tool: &str, input: &Value) -> bool {
        let mut approved = self.0.lock();
        let found = approved
            .iter()
            .position(|(known, of)| known == tool && of == input);
        found.map(|at| approved.remove(at)).is_some()
    }
}
