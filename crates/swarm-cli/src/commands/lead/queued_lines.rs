//! Lines that a person types while the lead is in a turn. They are sent when the turn ends.

use std::sync::Arc;

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_protocol::AgentEvent;
use swarm_ui::{Console, PaneInput};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::event_tap::tapped;

/// The queue of an interactive lead's input.
#[derive(Debug)]
pub(super) struct QueuedLines {
    state: Mutex<State>,
    /// The screen that shows the queue; without it every line is sent immediately.
    console: Option<Console>,
    lead: UnboundedSender<PaneInput>,
    /// Cancelled when the lead stops. It reads nothing from then on.
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    in_turn: bool,
    lines: Vec<QueuedLine>,
}

#[derive(Debug)]
struct QueuedLine {
    /// The line as it was typed.
    text: String,
    /// What the lead gets.
    input: PaneInput,
}

impl QueuedLines {
    pub(super) fn new(
        console: Option<Console>,
        lead: UnboundedSender<PaneInput>,
        stop: CancellationToken,
    ) -> Self {
        if let Some(console) = &console {
            console.set_queued(Vec::new());
        }
        Self {
            state: Mutex::default(),
            console,
            lead,
            stop,
        }
    }

    /// Sends the input of a typed line, during a turn when that ends.
    pub(super) fn send(&self, text: String, input: PaneInput) {
        let mut state = self.state.lock();
        if state.in_turn && self.console.is_some() {
            state.lines.push(QueuedLine { text, input });
            self.show(&state);
        } else {
            // A stopped lead no longer receives.
            self.lead.send(input).ok();
        }
    }

    pub(super) fn send_all(&self) {
        self.flush(&mut self.state.lock());
    }

    /// Removes the last line from the queue and returns it.
    pub(super) fn take_back(&self) -> Option<String> {
        let mut state = self.state.lock();
        let last = state.lines.pop()?;
        self.show(&state);
        Some(last.text)
    }

    /// Returns the queued lines with the text of the input line, which are kept as a draft.
    pub(super) fn unsent(&self, text: &str) -> String {
        let state = self.state.lock();
        let lines = state.lines.iter().map(|line| line.text.as_str());
        let lines = lines.chain([text]).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns a sink that also sends the queue at the end of a turn.
    pub(super) fn following(self: &Arc<Self>, inner: Arc<dyn EventSink>) -> Arc<dyn EventSink> {
        let queue = Arc::clone(self);
        tapped(inner, move |event| {
            queue.follow(event);
            true
        })
    }

    fn follow(&self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted => self.state.lock().in_turn = true,
            AgentEvent::TurnEnded { .. } => {
                let mut state = self.state.lock();
                state.in_turn = false;
                if !self.stop.is_cancelled() {
                    self.flush(&mut state);
                }
            }
            _ => {}
        }
    }

    fn flush(&self, state: &mut State) {
        if state.lines.is_empty() {
            return;
        }
        for line in state.lines.drain(..) {
            self.lead.send(line.input).ok();
        }
        self.show(state);
    }

    fn show(&self, state: &State) {
        if let Some(console) = &self.console {
            let lines = state.lines.iter().map(|line| line.text.clone());
            console.set_queued(lines.collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use swarm_protocol::Usage;
    use swarm_ui::Theme;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn queue() -> (QueuedLines, UnboundedReceiver<PaneInput>) {
        let console = Console::closed(
            Box::new(io::sink()),
            Box::new(io::sink()),
            Theme::PLAIN,
            Box::new(|| Some(80)),
            "> ",
        );
        let (lead, sent) = unbounded_channel();
        let queue = QueuedLines::new(Some(console), lead, CancellationToken::new());
        (queue, sent)
    }

    fn ended() -> AgentEvent {
        AgentEvent::TurnEnded {
            text: String::new(),
            usage: Usage::default(),
            outcome: "finished".to_owned(),
            error: None,
        }
    }

    fn line(text: &str) -> PaneInput {
        PaneInput::Line(text.to_owned())
    }

    #[test]
    fn lines_of_a_turn_are_sent_in_order_when_it_ends() {
        let (queue, mut sent) = queue();
        queue.send("a".to_owned(), line("a"));
        assert_eq!(sent.try_recv().ok(), Some(line("a")), "no turn is running");
        queue.follow(&AgentEvent::TurnStarted);
        for text in ["b", "c", "d"] {
            queue.send(text.to_owned(), line(text));
        }
        assert!(sent.try_recv().is_err());
        assert_eq!(queue.take_back().as_deref(), Some("d"));
        queue.follow(&ended());
        assert_eq!(sent.try_recv().ok(), Some(line("b")));
        assert_eq!(sent.try_recv().ok(), Some(line("c")));
        assert!(sent.try_recv().is_err());
        assert_eq!(queue.take_back(), None);
    }

    #[test]
    fn lines_are_sent_during_the_turn_on_request() {
        let (queue, mut sent) = queue();
        queue.follow(&AgentEvent::TurnStarted);
        queue.send("a".to_owned(), line("a"));
        queue.send_all();
        assert_eq!(sent.try_recv().ok(), Some(line("a")));
    }

    #[test]
    fn lines_are_kept_as_a_draft_when_the_lead_stops() {
        let (queue, mut sent) = queue();
        queue.follow(&AgentEvent::TurnStarted);
        for text in ["a", "b"] {
            queue.send(text.to_owned(), line(text));
        }
        queue.stop.cancel();
        queue.follow(&ended());
        assert!(sent.try_recv().is_err());
        assert_eq!(queue.unsent("half a line"), "a\nb\nhalf a line");
        assert_eq!(queue.unsent(""), "a\nb");
    }
}
