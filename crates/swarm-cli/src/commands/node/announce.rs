//! What a node prints: one line for each event.

use serde_json::json;
use swarm_protocol::{AgentId, TeamName};

use crate::output::{Output, plain};

#[derive(Debug, Clone, Copy)]
pub(super) struct Announcer(pub(super) Output);

impl Announcer {
    /// Prints an event of the node.
    pub(super) fn tell(self, event: &str, text: &str) {
        self.print(&json!({ "event": event, "text": text }), text);
    }

    pub(super) fn tell_of_team(self, event: &str, team: &TeamName, text: &str) {
        let line = format!("{team}: {text}");
        self.print(
            &json!({ "event": event, "team": team, "text": text }),
            &line,
        );
    }

    pub(super) fn tell_of_member(self, event: &str, member: &AgentId, text: &str) {
        let record = json!({
            "event": event, "team": member.team, "member": member.name, "text": text,
        });
        self.print(&record, &format!("{}: {text}", member.team));
    }

    /// A node continues if its output is not read.
    fn print(self, record: &serde_json::Value, line: &str) {
        let printed = if self.0.json {
            self.0.json_line(record)
        } else {
            self.0.data(&plain(line))
        };
        if let Err(failure) = printed {
            tracing::warn!(failure.message, "an event was not printed");
        }
    }
}
