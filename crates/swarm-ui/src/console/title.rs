//! The title of the terminal: the question that waits.

use super::screen::Inner;
use crate::sanitize::clean_line;
use crate::width::fit;

/// Maximum width of a title in columns.
const MAX_LENGTH: usize = 100;

/// Saves the title.
const SAVE: &str = "\u{1b}[22;2t";

/// Restores the saved title. In terminals that save none, `swarm` is the title afterwards.
const RESTORE: &str = "\u{1b}]2;swarm\u{7}\u{1b}[23;2t";

impl Inner {
    /// Makes the question that waits the title of the terminal, or restores the title.
    pub(super) fn follow_title(&mut self) {
        let is_shown = self.alert.sets_title && !self.is_closed;
        let dialog = self.dialog.as_ref().filter(|_| is_shown);
        let wanted = dialog.map(|open| open.dialog.question.clone());
        if wanted == self.title {
            return;
        }
        let before = self.title.as_ref().map_or("", |_| RESTORE);
        let title = wanted.as_ref().map_or_else(String::new, |question| {
            let question = fit(&clean_line(question), MAX_LENGTH);
            format!("{SAVE}\u{1b}]2;{question}\u{7}")
        });
        self.send(&format!("{before}{title}"));
        self.title = wanted;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::console::input::Key;
    use crate::console::recorded_screen::Screen;
    use crate::console::{Alert, Dialog};

    #[test]
    fn the_question_is_the_title_until_it_is_answered_or_the_terminal_is_released() {
        let (screen, console) = Screen::console(40, "> ");
        let drawn = || {
            let drawn = screen.text();
            screen.clear();
            drawn
        };
        let ask = |question: Option<&str>| {
            let dialog = question.map(|question| Dialog {
                id: "perm-1".to_owned(),
                question: question.to_owned(),
                ..Dialog::default()
            });
            console.ask(dialog, Duration::ZERO);
            drawn()
        };
        assert!(
            !ask(Some("bob asks")).contains("]2;"),
            "panes have their own titles"
        );
        console.set_alert(Alert {
            sets_title: true,
            ..Alert::default()
        });
        let one = format!("{SAVE}\u{1b}]2;one␛?\u{7}");
        assert!(ask(Some("one\u{1b}?")).ends_with(&one));
        assert!(ask(Some("two")).ends_with(&format!("{RESTORE}{SAVE}\u{1b}]2;two\u{7}")));
        console.close();
        assert!(drawn().ends_with(RESTORE));
        console.reopen();
        assert!(drawn().contains("]2;two"));
        assert!(ask(None).ends_with(RESTORE));
        assert!(!ask(None).contains("]2;"));
        ask(Some("three"));
        console.key(Key::Interrupt);
        assert!(drawn().ends_with(RESTORE), "a key removed the question");
    }
}
