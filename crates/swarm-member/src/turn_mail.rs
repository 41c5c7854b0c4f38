//! What a member sent during its present turn.

use swarm_protocol::{AgentEvent, LEAD_NAME};

/// Longest piece of a message to a peer in the notice, as Claude Code cuts it.
const SUMMARY_CHARS: usize = 80;

/// What a member sent during its present turn.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TurnMail {
    pub(crate) last_to_peer: Option<String>,
    pub(crate) reported_to_lead: bool,
}

impl TurnMail {
    /// Follows the events of a turn. A message to the lead counts as the turn's report unless work goes on after it.
    pub(crate) fn follow(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted => *self = Self::default(),
            AgentEvent::ToolStarted { tool, .. } if tool != "SendMessage" => {
                self.reported_to_lead = false;
            }
            // What a sub-agent wrote to the lead is not the member's report.
            AgentEvent::SubAgentEnded { .. } => self.reported_to_lead = false,
            AgentEvent::MailOut { to, .. } if to == LEAD_NAME => self.reported_to_lead = true,
            AgentEvent::MailOut { to, line } => {
                let line: String = line.chars().take(SUMMARY_CHARS).collect();
                self.last_to_peer = Some(format!("[to {to}] {line}"));
            }
            _ => {}
        }
    }
}
