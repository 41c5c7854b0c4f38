//! The idle notice: what a turn came to, told to the lead.

use swarm_engine::TurnOutcome;
use swarm_protocol::{AgentEvent, IdleNotification, IdleReason, IsoTime, LEAD_NAME};

/// Longest text of a result in bytes; what is longer stands in the transcript.
const RESULT_BYTES: usize = 64 * 1024;

/// Longest piece of a message to a peer in the notice, as Claude Code cuts it.
const SUMMARY_CHARS: usize = 80;

/// What a member sent during its present turn.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TurnMail {
    last_to_peer: Option<String>,
    reported_to_lead: bool,
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

/// What the lead is told when a turn is over: its final text, unless the member has just reported by message.
pub(crate) fn notice(
    from: String,
    timestamp: IsoTime,
    outcome: &TurnOutcome,
    mail: &TurnMail,
) -> IdleNotification {
    let (reason, result, failure) = match outcome {
        TurnOutcome::Finished { text, .. } => {
            let news = !text.trim().is_empty() && !mail.reported_to_lead;
            (IdleReason::Available, news.then(|| cut(text)), None)
        }
        TurnOutcome::Interrupted { .. } | TurnOutcome::Suspended { .. } => {
            (IdleReason::Interrupted, None, None)
        }
        TurnOutcome::StoppedByHook { .. } => (IdleReason::Interrupted, None, outcome.trouble()),
        TurnOutcome::Failed { error, .. } => (IdleReason::Failed, None, Some(error.to_string())),
        TurnOutcome::TurnLimit { text, .. } => (IdleReason::Failed, None, Some(cut(text))),
    };
    IdleNotification {
        from,
        timestamp,
        idle_reason: Some(reason),
        result,
        summary: mail.last_to_peer.clone(),
        completed_task_id: None,
        completed_status: None,
        failure_reason: failure,
        open_tasks: Vec::new(),
    }
}

/// A text that fits into a notice.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= RESULT_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(RESULT_BYTES);
    format!(
        "{}\n[cut: {} more bytes stand in the transcript]",
        &text[..end],
        text.len() - end
    )
}
