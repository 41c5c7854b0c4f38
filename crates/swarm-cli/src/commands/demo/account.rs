//! The summary of the demo: one line per journal event.

use swarm_protocol::{Event, JournalEntry, TaskState, UnixMs};
use swarm_team::speaker;

/// Returns the line for an event, or `None` if the event is not shown.
pub(super) fn line(entry: &JournalEntry, began: UnixMs) -> Option<String> {
    let (who, what) = words(&entry.event)?;
    let at = entry.at.since(began);
    Some(format!(
        "{:>3}.{} s  {who:<12} {what}",
        at / 1000,
        at % 1000 / 100
    ))
}

fn words(event: &Event) -> Option<(String, String)> {
    Some(match event {
        Event::TeamCreated { by } => (by.clone(), "creates the team".to_owned()),
        Event::SpawnCommitted { member, pid, .. } => (
            member.to_string(),
            format!("is ready in its pane (process {pid})"),
        ),
        Event::Queued {
            from,
            to,
            summary,
            frame: None,
            kind,
            ..
        } => {
            let summary = summary.as_deref().unwrap_or("a message");
            (speaker(from, *kind), format!("writes to {to}: {summary}"))
        }
        Event::TaskCreated {
            task, subject, by, ..
        } => (by.clone(), format!("adds task #{task}: {subject}")),
        Event::TaskChanged {
            task, from, to, by, ..
        } if from != to => {
            let what = match to {
                TaskState::InProgress => "starts on",
                TaskState::Completed => "completes",
                TaskState::Failed => "gives up",
                TaskState::Pending | TaskState::Blocked => return None,
            };
            (by.clone(), format!("{what} task #{task}"))
        }
        Event::ShutdownRequested { member, .. } => {
            ("team-lead".to_owned(), format!("asks {member} to stop"))
        }
        Event::MemberStopped { member, .. } => (member.to_string(), "has stopped".to_owned()),
        Event::MemberDied { member, reason, .. } => (member.to_string(), format!("died: {reason}")),
        _ => return None,
    })
}

/// Whether the panes are captured at this event: a member has finished its work, or the shutdown
/// begins.
pub(super) fn is_moment(event: &Event) -> bool {
    matches!(
        event,
        Event::TurnEnded { .. } | Event::ShutdownRequested { .. }
    )
}
