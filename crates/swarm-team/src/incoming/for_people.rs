//! A message as panes and lists show it.

use swarm_protocol::{
    AgentEvent, ControlFrame, IdleNotification, IdleReason, MailText, MemberName, TaskAssignment,
    task_numbers,
};

use super::message::Incoming;
use crate::frame_text::frame_line;

/// Maximum characters of a text in one line of a pane.
pub(super) const SHORT: usize = 30;

impl Incoming {
    /// Returns the display in the pane of `reader`, with the same sender as in [`Self::render`].
    pub fn shown(&self, reader: &MemberName) -> AgentEvent {
        let from = self.speaker();
        let is_member = from == self.entry.from;
        AgentEvent::MailIn {
            color: self.entry.color.clone().filter(|_| is_member),
            from,
            line: self.line(),
            more: self.more(reader),
        }
    }

    /// Returns the first words, for a pane.
    pub fn line(&self) -> String {
        let entry = &self.entry;
        match &self.frame {
            None => entry
                .summary
                .clone()
                .unwrap_or_else(|| first_line(&entry.text).to_owned()),
            Some(ControlFrame::TaskAssignment(frame)) => assignment(frame),
            Some(ControlFrame::IdleNotification(frame)) => idle(frame, first_line),
            Some(_) => self.in_full(),
        }
    }

    /// Returns the whole text, for a list.
    pub fn in_full(&self) -> String {
        match &self.frame {
            Some(ControlFrame::TaskAssignment(frame)) => {
                format!("{}\n{}", assignment(frame), frame.description)
            }
            Some(ControlFrame::IdleNotification(frame)) => idle(frame, str::trim),
            Some(ControlFrame::ShutdownRequest(frame)) => match &frame.reason {
                Some(reason) => format!("shutdown request: {reason}"),
                None => "shutdown request".to_owned(),
            },
            Some(ControlFrame::CompactRequest(frame)) => match &frame.instructions {
                Some(instructions) => format!("compact request: {instructions}"),
                None => "compact request".to_owned(),
            },
            Some(ControlFrame::ShutdownRejected(frame)) => {
                format!("refuses to shut down: {}", frame.reason)
            }
            Some(frame) => frame_line(frame),
            None => self.entry.text.clone(),
        }
    }

    /// Returns the whole text if [`Self::line`] shortens it, with the command that shows it later.
    pub fn more(&self, reader: &MemberName) -> Option<MailText> {
        let (line, text) = (self.line(), self.in_full());
        let text = text.trim();
        if self.session_mode().is_some() {
            return None;
        }
        let is_short = text == line.trim() && text.chars().count() <= SHORT;
        (!is_short).then(|| MailText {
            text: text.to_owned(),
            command: format!("swarm inbox {reader} --all"),
        })
    }
}

fn assignment(frame: &TaskAssignment) -> String {
    format!("task #{}: {}", frame.task_id, frame.subject)
}

/// Formats an idle notice with the part of its report that `part` selects.
fn idle(frame: &IdleNotification, part: fn(&str) -> &str) -> String {
    let open = task_numbers(&frame.open_tasks);
    match frame.result.as_deref().or(frame.failure_reason.as_deref()) {
        Some(text) if !open.is_empty() => format!("idle, left {open} open: {}", part(text)),
        Some(text) => format!("idle: {}", part(text)),
        None if !open.is_empty() => format!("idle: {open} still in progress"),
        None if frame.idle_reason == Some(IdleReason::Interrupted) => {
            "idle: its turn was interrupted".to_owned()
        }
        None => "idle".to_owned(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .trim()
}
