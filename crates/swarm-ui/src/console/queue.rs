//! Lines that wait until the agent has finished its turn.

use super::input::{Key, PaneInput};
use super::screen::{Console, Inner};
use crate::sanitize::clean_line;
use crate::width::fit;

/// Most queued lines that are shown.
const MOST_SHOWN: usize = 3;

/// How to change what is queued.
const HINT: &str = " (Up: edit, Ctrl-S: send now)";

impl Console {
    /// Sets the queued lines to show, oldest first. From the first call on, keys concern the queue:
    /// see [`PaneInput::SendNow`] and [`PaneInput::TakeBack`].
    pub fn set_queued(&self, lines: Vec<String>) {
        let mut inner = self.inner.lock();
        inner.repaint(|inner| inner.queued = Some(lines));
    }
}

impl Inner {
    /// Returns the input of a key that concerns the queue; otherwise the key for the line.
    pub(super) fn queue_key(&self, key: Key) -> Result<PaneInput, Key> {
        let queue = self.queued.as_ref().filter(|_| self.addressee.is_none());
        let is_idle = self.line.is_idle();
        match (key, queue) {
            // Nothing is queued here, so every line is sent now.
            (Key::SendNow, None) => Err(Key::Enter),
            (Key::Up, Some(lines)) if is_idle && !lines.is_empty() => Ok(PaneInput::TakeBack),
            (key, _) => Err(key),
        }
    }

    /// Returns the rows of the queue above the input line.
    pub(super) fn queue_rows(&self) -> Vec<String> {
        let lines = self.queued.as_deref().unwrap_or_default();
        let hidden = lines.len().saturating_sub(MOST_SHOWN);
        let mut rows = Vec::new();
        if hidden > 0 {
            rows.push(format!("… +{hidden} queued"));
        }
        let shown = lines.iter().skip(hidden);
        rows.extend(shown.map(|line| format!("queued: {}", clean_line(line))));
        if let Some(last) = rows.last_mut() {
            let room = self.columns().saturating_sub(1 + HINT.len());
            *last = fit(last, room) + HINT;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::recorded_screen::Screen;

    #[test]
    fn the_last_queued_lines_are_shown_with_their_keys() {
        let (screen, console) = Screen::console(60, "lead > ");
        console.set_queued(
            ["one", "two", "three", "four\nfive"]
                .map(str::to_owned)
                .to_vec(),
        );
        let shown = screen.text();
        let rows = "… +1 queued\r\nqueued: two\r\nqueued: three\r\n\
            queued: four five (Up: edit, Ctrl-S: send now)\r\nlead > ";
        assert!(shown.contains(rows), "{shown:?}");
        screen.clear();
        console.set_queued(Vec::new());
        let shown = screen.text();
        assert!(!shown.contains("queued"), "{shown:?}");
    }

    #[test]
    fn keys_concern_the_queue_where_there_is_one() {
        let (_screen, console) = Screen::console(60, "lead > ");
        let text = |text: &str| Key::Text(text.to_owned());
        console.key(text("a"));
        let line = Some(PaneInput::Line("a".to_owned()));
        assert_eq!(console.key(Key::SendNow), line, "there is no queue");
        console.set_queued(vec!["b".to_owned()]);
        assert_eq!(console.key(Key::Up), Some(PaneInput::TakeBack));
        let all = Some(PaneInput::SendNow(String::new()));
        assert_eq!(console.key(Key::SendNow), all);
        console.key(text("c"));
        assert_eq!(console.key(Key::Up), None, "history");
        assert_eq!(console.text(), "a");
        console.key(Key::Down);
        let now = Some(PaneInput::SendNow("c".to_owned()));
        assert_eq!(console.key(Key::SendNow), now);
        console.set_queued(Vec::new());
        assert_eq!(console.key(Key::Up), None, "history");
        assert_eq!(console.text(), "c");
    }
}
