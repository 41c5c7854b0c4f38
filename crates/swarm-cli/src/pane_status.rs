//! The status row of a teammate's pane: what its turn does, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_protocol::AgentEvent;
use swarm_ui::print::counted;
use swarm_ui::{Console, SessionChange, SessionStatus};
use tokio::sync::Notify;

/// Time between two frames of the row.
const FRAME: Duration = Duration::from_secs(1);

/// Shows the activity above the input line during a turn. It is part of the screen only, not of the
/// output file.
#[derive(Debug)]
pub(crate) struct PaneStatus {
    console: Console,
    status: Mutex<SessionStatus>,
    postponed: AtomicUsize,
    /// Notified when the row may begin to change over time.
    changed: Notify,
}

impl PaneStatus {
    /// Creates the row, which is empty until a turn begins.
    pub(crate) fn new(console: Console, status: SessionStatus) -> Self {
        Self {
            console,
            status: Mutex::new(status),
            postponed: AtomicUsize::new(0),
            changed: Notify::new(),
        }
    }

    fn draw(&self) {
        let status = self.status.lock();
        let mut rows = status.finished_calls();
        rows.extend(status.activity(Instant::now()));
        drop(status);
        rows.extend(postponed_row(self.postponed.load(Ordering::Relaxed)));
        self.console.set_status(rows);
    }

    pub(crate) fn set_postponed(&self, count: usize) {
        self.postponed.store(count, Ordering::Relaxed);
        self.draw();
    }

    /// Draws the row once a second while it changes over time.
    pub(crate) async fn follow(self: Arc<Self>) {
        loop {
            if self.status.lock().is_timed() {
                tokio::time::sleep(FRAME).await;
                self.draw();
            } else {
                self.changed.notified().await;
            }
        }
    }
}

/// Returns the row about postponed requests, if there are any.
fn postponed_row(count: usize) -> Option<String> {
    let shown = if count == 1 { "it" } else { "them" };
    let requests = counted(count as u64, "request");
    (count > 0).then(|| format!("{requests} postponed; Esc shows {shown}, Esc twice interrupts"))
}

impl EventSink for PaneStatus {
    fn emit(&self, event: AgentEvent) {
        let change = self.status.lock().follow(&event, Instant::now());
        if change != SessionChange::None {
            self.changed.notify_one();
            self.draw();
        }
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{PermissionMode, Usage};
    use swarm_ui::Theme;

    use super::*;
    use crate::drawn::Drawn;

    #[test]
    fn the_row_is_on_the_screen_during_a_turn_and_never_in_the_output_file() {
        let (screen, file) = (Drawn::default(), Drawn::default());
        let console = Console::closed(
            Box::new(screen.clone()),
            Box::new(file.clone()),
            Theme::PLAIN,
            Box::new(|| Some(80)),
            "bob > ",
        )
        .opened();
        let status = SessionStatus::new("sonnet".to_owned(), PermissionMode::Default, None);
        let row = PaneStatus::new(console, status);
        screen.take();
        row.emit(AgentEvent::TurnStarted);
        assert!(screen.take().contains(" working "));
        row.emit(AgentEvent::TextDelta {
            text: "hello".to_owned(),
        });
        row.emit(AgentEvent::ToolStarted {
            id: "1".to_owned(),
            tool: "Bash".to_owned(),
            line: "Bash make".to_owned(),
        });
        assert!(screen.take().contains(" Bash "));
        row.emit(AgentEvent::TurnEnded {
            text: String::new(),
            usage: Usage::default(),
            outcome: "finished".to_owned(),
            error: None,
        });
        let end = screen.take();
        assert!(end.contains("bob > ") && !end.contains("Bash"), "{end}");
        row.set_postponed(1);
        assert!(screen.take().contains("1 request postponed; Esc shows it"));
        row.set_postponed(0);
        assert!(!screen.take().contains("postponed"));
        assert_eq!(file.take(), "");
    }
}
