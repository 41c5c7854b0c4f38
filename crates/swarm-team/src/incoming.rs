//! Mail as it comes in: sorted into what the program handles and what the model reads.

use swarm_protocol::{
    AgentEvent, ControlFrame, Envelope, IdleNotification, InboxEntry, MarkKind, MessageId,
    PermissionRequestFrame, PermissionResponse, SYSTEM_SENDER, ShutdownApproved, ShutdownRejected,
    ShutdownRequest, TaskAssignment,
};

/// How a sender is shown whose name is the one under which the program speaks.
const NOT_THE_SYSTEM: &str = "a member called system";

/// One message, sorted.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// A peer or a person wrote something.
    Prose(InboxEntry),
    /// The program says something.
    System(InboxEntry),
    /// A task is now the receiver's.
    Assignment(InboxEntry, TaskAssignment),
    /// The lead wants the receiver to stop.
    ShutdownRequest(InboxEntry, ShutdownRequest),
    /// A member stops.
    ShutdownApproved(InboxEntry, ShutdownApproved),
    /// A member does not stop.
    ShutdownRejected(InboxEntry, ShutdownRejected),
    /// A member waits for mail.
    Idle(InboxEntry, IdleNotification),
    /// A member asks for permission.
    PermissionRequest(InboxEntry, PermissionRequestFrame),
    /// The answer to a permission request of the receiver.
    PermissionResponse(InboxEntry, PermissionResponse),
}

impl Incoming {
    /// Sorts one entry.
    pub fn of(entry: InboxEntry) -> Self {
        match ControlFrame::of_entry(&entry) {
            Some(ControlFrame::TaskAssignment(frame)) => Self::Assignment(entry, frame),
            Some(ControlFrame::ShutdownRequest(frame)) => Self::ShutdownRequest(entry, frame),
            Some(ControlFrame::ShutdownApproved(frame)) => Self::ShutdownApproved(entry, frame),
            Some(ControlFrame::ShutdownRejected(frame)) => Self::ShutdownRejected(entry, frame),
            Some(ControlFrame::IdleNotification(frame)) => Self::Idle(entry, frame),
            Some(ControlFrame::PermissionRequest(frame)) => Self::PermissionRequest(entry, frame),
            Some(ControlFrame::PermissionResponse(frame)) => Self::PermissionResponse(entry, frame),
            _ if entry
                .swarm
                .as_ref()
                .is_some_and(|mark| mark.kind == Some(MarkKind::System)) =>
            {
                Self::System(entry)
            }
            _ => Self::Prose(entry),
        }
    }

    /// The entry it came as.
    pub fn entry(&self) -> &InboxEntry {
        match self {
            Self::Prose(entry)
            | Self::System(entry)
            | Self::Assignment(entry, _)
            | Self::ShutdownRequest(entry, _)
            | Self::ShutdownApproved(entry, _)
            | Self::ShutdownRejected(entry, _)
            | Self::Idle(entry, _)
            | Self::PermissionRequest(entry, _)
            | Self::PermissionResponse(entry, _) => entry,
        }
    }

    /// Its id. Entries taken from a mailbox always have one.
    pub fn id(&self) -> Option<&MessageId> {
        self.entry().msg_id.as_ref()
    }

    /// The text that a model reads, in its envelope.
    pub fn render(&self) -> String {
        match self {
            Self::System(entry) => Envelope::system(&entry.text).render(),
            Self::Assignment(_, frame) => {
                let text = format!(
                    "Task #{} is assigned to you by {}: {}\n{}",
                    frame.task_id, frame.assigned_by, frame.subject, frame.description
                );
                Envelope::system(&text).render()
            }
            Self::ShutdownRequest(_, frame) => Envelope::system(&shutdown_text(frame)).render(),
            Self::ShutdownRejected(entry, frame) => {
                let text = format!("I do not shut down now: {}", frame.reason);
                in_the_name_of(entry, &text)
            }
            Self::Idle(entry, frame) => in_the_name_of(entry, &idle_text(frame)),
            _ => in_the_name_of(self.entry(), &self.entry().text),
        }
    }

    /// How a pane shows it. What the program says does not stand under the name of a peer, as in [`Self::render`].
    pub fn shown(&self) -> AgentEvent {
        let (from, color) = match self {
            Self::System(_) | Self::Assignment(..) => (SYSTEM_SENDER, None),
            _ => (sender(self.entry()), self.entry().color.clone()),
        };
        AgentEvent::MailIn {
            from: from.to_owned(),
            color,
            line: self.line(),
        }
    }

    /// The first words, for a pane or a list.
    pub fn line(&self) -> String {
        match self {
            Self::Assignment(_, frame) => format!("task #{}: {}", frame.task_id, frame.subject),
            Self::ShutdownRequest(_, frame) => match &frame.reason {
                Some(reason) => format!("shutdown request: {reason}"),
                None => "shutdown request".to_owned(),
            },
            Self::ShutdownApproved(..) => "shuts down".to_owned(),
            Self::ShutdownRejected(_, frame) => format!("does not shut down: {}", frame.reason),
            Self::Idle(_, frame) => {
                match frame.result.as_deref().or(frame.failure_reason.as_deref()) {
                    Some(text) => format!("idle: {}", first_line(text)),
                    None => "idle".to_owned(),
                }
            }
            Self::PermissionRequest(_, frame) => format!("asks: {}", frame.description),
            Self::PermissionResponse(..) => "permission answer".to_owned(),
            Self::Prose(entry) | Self::System(entry) => entry
                .summary
                .clone()
                .unwrap_or_else(|| first_line(&entry.text).to_owned()),
        }
    }
}

/// A text under the name of its sender.
fn in_the_name_of(entry: &InboxEntry, text: &str) -> String {
    Envelope {
        from: sender(entry),
        text,
        ..Envelope::of(entry)
    }
    .render()
}

/// The name of a sender. The program's own is not to be had by a member that is called so.
fn sender(entry: &InboxEntry) -> &str {
    if entry.from.trim().eq_ignore_ascii_case(SYSTEM_SENDER) {
        NOT_THE_SYSTEM
    } else {
        &entry.from
    }
}

fn shutdown_text(frame: &ShutdownRequest) -> String {
    let reason = frame.reason.as_deref().unwrap_or("none given");
    format!(
        "The team lead asks you to shut down. Reason: {reason}\n\
         Finish what must not be left half-done and end your turn; the program then ends this process.\n\
         To refuse, call SendMessage with to \"team-lead\" and message \
         {{\"type\":\"shutdown_response\",\"request_id\":\"{}\",\"approve\":false,\"reason\":\"…\"}}.",
        frame.request_id
    )
}

fn idle_text(frame: &IdleNotification) -> String {
    match (&frame.result, &frame.failure_reason) {
        (_, Some(failure)) => format!("My turn failed and I am idle: {failure}"),
        (Some(result), None) => result.clone(),
        (None, None) => "I am idle.".to_owned(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .trim()
}

/// Sorts the entries of an inbox, in order.
pub fn sort_mail(entries: Vec<InboxEntry>) -> Vec<Incoming> {
    entries.into_iter().map(Incoming::of).collect()
}

/// Several messages as one user text.
pub fn render_incoming<'a>(messages: impl IntoIterator<Item = &'a Incoming>) -> String {
    let rendered: Vec<String> = messages.into_iter().map(Incoming::render).collect();
    rendered.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarm_protocol::{IsoTime, LEAD_NAME, SwarmMark};

    fn entry(text: &str, kind: Option<MarkKind>) -> InboxEntry {
        InboxEntry {
            color: Some("red".to_owned()),
            swarm: Some(SwarmMark {
                kind,
                ..SwarmMark::default()
            }),
            ..InboxEntry::new(LEAD_NAME, text, IsoTime::new("2026-01-01T00:00:00.000Z"))
        }
    }

    fn assignment() -> String {
        ControlFrame::TaskAssignment(TaskAssignment {
            task_id: "2".to_owned(),
            subject: "Mend it".to_owned(),
            description: String::new(),
            assigned_by: LEAD_NAME.to_owned(),
            timestamp: IsoTime::new("2026-01-01T00:00:00.000Z"),
        })
        .to_text()
    }

    #[test]
    fn what_the_program_says_stands_under_no_members_name() {
        for (text, kind, from, color) in [
            ("Mend it", None, LEAD_NAME, Some("red".to_owned())),
            (
                "Task #2 is free",
                Some(MarkKind::System),
                SYSTEM_SENDER,
                None,
            ),
            (&assignment(), Some(MarkKind::Control), SYSTEM_SENDER, None),
        ] {
            let incoming = Incoming::of(entry(text, kind));
            let line = incoming.line();
            let from = from.to_owned();
            assert_eq!(incoming.shown(), AgentEvent::MailIn { from, color, line });
        }
    }
}
