//! The idle notice: what a turn came to, told to the lead.

use swarm_engine::TurnOutcome;
use swarm_protocol::{IdleNotification, IdleReason, IsoTime};

use crate::turn_mail::TurnMail;

/// Longest text of a result in bytes; what is longer stands in the transcript.
const RESULT_BYTES: usize = 64 * 1024;

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
