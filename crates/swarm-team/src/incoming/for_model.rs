//! A message as a model reads it.

use std::borrow::Cow;

use swarm_permissions::HandoffScan;
use swarm_protocol::{
    ControlFrame, Envelope, IdleNotification, IdleReason, ShutdownRequest, TaskAssignment,
    cross_session_message, task_numbers,
};

use super::message::{Incoming, speaker_of};
use crate::frame_text::{FrameText, frame_text};

impl Incoming {
    /// Returns the text for a model, in its envelope. Everything that a teammate may have written is
    /// scanned, also in a message of the program: it quotes tasks and reasons.
    pub fn render(&self, scan: HandoffScan) -> String {
        let entry = &self.entry;
        if let Some(mode) = self.session_mode() {
            return cross_session_message(&entry.from, mode, &scan.checked(&entry.text));
        }
        match &self.frame {
            None if self.is_system() => Envelope::system(&scan.checked(&entry.text)).render(),
            None => self.render_prose(scan),
            Some(ControlFrame::TaskAssignment(frame)) => self.render_assignment(frame, scan),
            Some(ControlFrame::ShutdownRequest(frame)) => {
                let text = format!("{}\n{}", shutdown_text(frame), refusal_text(frame));
                Envelope::system(&text).render()
            }
            Some(ControlFrame::ShutdownRejected(frame)) => {
                let reason = scan.checked(&frame.reason);
                self.in_name_of_sender(&format!("I am not shutting down now: {reason}"), scan)
            }
            Some(ControlFrame::IdleNotification(frame)) => {
                self.in_name_of_sender(&scan.checked(&idle_text(frame)), scan)
            }
            Some(frame) => match frame_text(frame, scan) {
                FrameText::OfSender(text) => self.in_name_of_sender(&text, scan),
                FrameText::OfProgram(text) => Envelope::system(&text).render(),
            },
        }
    }

    /// Formats a text of a member or a person. A summary with a risk becomes part of the text, behind
    /// the warning.
    fn render_prose(&self, scan: HandoffScan) -> String {
        let text = &self.entry.text;
        let hidden = match (&self.entry.summary, self.summary(scan)) {
            (Some(summary), None) if !text.contains(summary) => format!("{summary}\n\n"),
            _ => String::new(),
        };
        self.in_name_of_sender(&self.checked(&format!("{hidden}{text}"), scan), scan)
    }

    /// Returns a text of this message for a model. What the lead or a person says is not scanned; what
    /// their frames quote may be of a teammate.
    pub fn checked<'a>(&self, text: &'a str, scan: HandoffScan) -> Cow<'a, str> {
        if self.is_prose() && self.is_of_lead() && self.session_mode().is_none() {
            Cow::Borrowed(text)
        } else {
            scan.checked(text)
        }
    }

    /// Formats an assignment, in the name of a teammate if that made it. Even the lead may assign a
    /// task that a teammate has written.
    fn render_assignment(&self, frame: &TaskAssignment, scan: HandoffScan) -> String {
        let (id, task) = (
            &frame.task_id,
            format!("{}\n{}", frame.subject, frame.description),
        );
        if self.is_of_lead() {
            let (by, task) = (&frame.assigned_by, scan.checked(&task));
            return Envelope::system(&format!("Task #{id} is assigned to you by {by}: {task}"))
                .render();
        }
        let text = format!("I assign task #{id} to you: {task}");
        self.in_name_of_sender(&scan.checked(&text), scan)
    }

    /// Returns the summary, unless a teammate wrote it and it contains a risk.
    fn summary(&self, scan: HandoffScan) -> Option<&str> {
        let summary = self.entry.summary.as_deref()?;
        let is_clean = || matches!(scan.checked(summary), Cow::Borrowed(_));
        (self.is_of_lead() || is_clean()).then_some(summary)
    }

    /// Puts a text, which is already scanned, into an envelope with the name of the sender.
    fn in_name_of_sender(&self, text: &str, scan: HandoffScan) -> String {
        Envelope {
            from: &speaker_of(&self.entry),
            color: self.entry.color.as_deref(),
            summary: self.summary(scan),
            text,
        }
        .render()
    }

    /// Returns the text for another agent program, which lacks swarm's tools.
    pub fn render_for_program(&self, scan: HandoffScan) -> String {
        match self.shutdown_request() {
            Some(request) => Envelope::system(&shutdown_text(request)).render(),
            None => self.render(scan),
        }
    }
}

fn shutdown_text(frame: &ShutdownRequest) -> String {
    let reason = frame.reason.as_deref().unwrap_or("none given");
    format!(
        "The team lead asks you to shut down. Reason: {reason}\n\
         Finish what must not be left half-done and end your turn; the program then ends this process."
    )
}

/// Tells a model with swarm's tools how to refuse.
fn refusal_text(frame: &ShutdownRequest) -> String {
    format!(
        "To refuse, call SendMessage with to \"team-lead\" and message \
         {{\"type\":\"shutdown_response\",\"request_id\":\"{}\",\"approve\":false,\"reason\":\"…\"}}.",
        frame.request_id
    )
}

fn idle_text(frame: &IdleNotification) -> String {
    let text = outcome_text(frame);
    if frame.open_tasks.is_empty() {
        return text;
    }
    let open = task_numbers(&frame.open_tasks);
    format!("{text}\n\n[Still in progress and not reported: {open}]")
}

fn outcome_text(frame: &IdleNotification) -> String {
    match (&frame.result, &frame.failure_reason) {
        (_, Some(failure)) => format!("My turn failed and I am idle: {failure}"),
        (Some(result), None) => result.clone(),
        (None, None) if frame.idle_reason == Some(IdleReason::Interrupted) => {
            "My turn was interrupted, and I am idle.".to_owned()
        }
        (None, None) => "I am idle.".to_owned(),
    }
}
