//! The account of the demo: one line per journal event, and the totals at the end.

use std::collections::BTreeSet;

use swarm_protocol::{Event, JournalEntry, MemberName, PERSON, TaskState, UnixMs};
use swarm_team::speaker;
use swarm_ui::print::counted;

/// Returns the line for an event, or `None` if the event is not shown.
pub(super) fn line(entry: &JournalEntry, began: UnixMs) -> Option<String> {
    let (who, what) = words(&entry.event)?;
    let at = time(entry.at, began);
    Some(format!("{at}  {who:<12} {what}"))
}

/// Returns the time since the beginning, in a column of fixed width.
pub(super) fn time(at: UnixMs, began: UnixMs) -> String {
    let passed = at.since(began);
    format!("{:>3}.{} s", passed / 1000, passed % 1000 / 100)
}

fn words(event: &Event) -> Option<(String, String)> {
    Some(match event {
        // The person's commands are shown.
        Event::TeamCreated { by } if by != PERSON => (by.clone(), "creates the team".to_owned()),
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
        Event::RequestOpened {
            from, description, ..
        } => {
            let question = description.strip_prefix("AskUserQuestion ");
            let question = question.map_or_else(|| format!("{description}?"), str::to_owned);
            (from.to_string(), format!("asks: {question}"))
        }
        Event::RequestAnswered {
            to: Some(to),
            answer,
            by,
            ..
        } => (by.by.clone(), format!("answers {to}: {answer}")),
        Event::ShutdownRequested { member, .. } => {
            ("team-lead".to_owned(), format!("asks {member} to stop"))
        }
        Event::MemberStopped { member, .. } => (member.to_string(), "has stopped".to_owned()),
        Event::MemberDied { member, reason, .. } => (member.to_string(), format!("died: {reason}")),
        _ => return None,
    })
}

/// Whether the panes are captured at this event.
pub(super) fn is_moment(event: &Event) -> bool {
    matches!(
        event,
        Event::SpawnCommitted { .. }
            | Event::TaskChanged { .. }
            | Event::RequestOpened { .. }
            | Event::RequestAnswered { .. }
            | Event::TurnEnded { .. }
            | Event::MemberDied { .. }
            | Event::ShutdownRequested { .. }
    )
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    members: BTreeSet<MemberName>,
    dead: BTreeSet<MemberName>,
    messages: u64,
    tasks: u64,
    answers: u64,
    /// How many died and were started again.
    continued: u64,
}

impl Tally {
    pub(super) fn count(&mut self, event: &Event) {
        match event {
            Event::SpawnCommitted { member, .. } => {
                self.members.insert(member.clone());
                self.continued += u64::from(self.dead.remove(member));
            }
            Event::Queued { frame: None, .. } => self.messages += 1,
            Event::TaskChanged {
                from,
                to: TaskState::Completed,
                ..
            } if *from != TaskState::Completed => self.tasks += 1,
            Event::RequestAnswered { .. } => self.answers += 1,
            Event::MemberDied { member, .. } => drop(self.dead.insert(member.clone())),
            _ => {}
        }
    }

    /// Returns the totals as a sentence, without what has not happened.
    pub(super) fn sentence(&self) -> String {
        let totals = [
            (self.messages, "message", ""),
            (self.tasks, "task", " completed"),
            (self.answers, "question", " answered"),
            (self.continued, "teammate", " killed and continued"),
        ];
        let totals: Vec<String> = totals
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, noun, what)| counted(count, noun) + what)
            .collect();
        let members = counted(
            self.members.len().try_into().unwrap_or(u64::MAX),
            "teammate",
        );
        format!("A lead and {members}: {}.", totals.join(", "))
    }
}
