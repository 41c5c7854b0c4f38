//! Text that belongs to an answer to a dialog, typed into the input line: a reason, or an answer in
//! the person's own words.

use super::form::FormStep;
use super::input::{Key, PaneInput};
use super::screen::Inner;

/// Prompt of the input line while a reason is typed.
const REASON_PROMPT: &str = "reason > ";

/// The keys that end a reason.
const REASON_KEYS: &str = "Enter: answer, also without a reason; Esc: back";

/// Prompt of the input line while an answer is typed.
const ANSWER_PROMPT: &str = "answer > ";

/// The keys that end a typed answer.
const ANSWER_KEYS: &str = "Enter: keep the answer; Esc: back to the options";

/// Stands for the key of an answer in the person's own words, which has none.
pub(super) const OWN_WORDS: char = '\n';

impl Inner {
    /// Lets text be typed for a choice.
    pub(super) fn explain(&mut self, key: char) {
        if let Some(open) = &mut self.dialog {
            open.explains = Some(key);
        }
    }

    /// Returns the prompt and the keys while text for the dialog is typed.
    pub(super) fn explained(&self) -> Option<(&'static str, &'static str)> {
        match self.dialog.as_ref()?.explains? {
            OWN_WORDS => Some((ANSWER_PROMPT, ANSWER_KEYS)),
            _ => Some((REASON_PROMPT, REASON_KEYS)),
        }
    }

    /// Returns whether the input line is for a reason.
    pub(super) fn is_explaining(&self) -> bool {
        (self.dialog.as_ref()).is_some_and(|open| open.explains.is_some())
    }

    /// Answers the dialog, or asks for a reason first.
    pub(super) fn choose(&mut self, key: char) -> Option<PaneInput> {
        if self.dialog.as_ref()?.dialog.reason == Some(key) {
            self.explain(key);
            return None;
        }
        self.answer_dialog(key, String::new())
    }

    fn answer_dialog(&mut self, key: char, text: String) -> Option<PaneInput> {
        if key == OWN_WORDS {
            self.drop_reason();
            let form = self.dialog.as_mut()?.form.as_mut()?;
            return match form.set_text(&text) {
                FormStep::Send(answers) => self.send_form(answers),
                _ => None,
            };
        }
        let dialog = self.close_dialog()?;
        Some(PaneInput::Choice { dialog, key, text })
    }

    /// Handles a key while a reason is typed.
    pub(super) fn reason_key(&mut self, key: Key) -> Option<PaneInput> {
        let chosen = self.dialog.as_ref()?.explains?;
        let said = match key {
            Key::Enter | Key::SendNow if self.line.is_empty() => {
                return self.answer_dialog(chosen, String::new());
            }
            Key::Compact => return self.line.key(key),
            Key::SendNow => self.line.key(Key::Enter),
            key => self.line.key(key),
        };
        match said {
            Some(PaneInput::Line(text)) => self.answer_dialog(chosen, text),
            Some(PaneInput::Interrupt) => {
                self.drop_reason();
                None
            }
            said => said,
        }
    }

    /// Returns from a reason to the choices.
    pub(super) fn drop_reason(&mut self) {
        if let Some(open) = &mut self.dialog {
            open.explains = None;
        }
        self.line.clear();
    }

    /// Moves a reason into the history, because its dialog is about to be replaced: the text must
    /// not become a prompt.
    pub(super) fn keep_reason(&mut self) {
        if self.is_explaining() && self.line.finish().is_some() {
            self.note = Some("the request is no longer open; Up returns your text".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::console::recorded_screen::Screen;
    use crate::console::{Choice, Console, Dialog};

    /// Returns a console with a dialog whose key 2 asks for a reason.
    fn asked() -> (Screen, Console) {
        let (screen, console) = Screen::console(80, "lead > ");
        ask(&console);
        (screen, console)
    }

    fn ask(console: &Console) {
        let dialog = Dialog {
            id: "perm-1".to_owned(),
            question: "bob asks: Bash make".to_owned(),
            choices: vec![Choice::new('1', "yes"), Choice::new('2', "no")],
            reason: Some('2'),
            ..Dialog::default()
        };
        console.ask(Some(dialog), Duration::ZERO);
    }

    fn press(console: &Console, text: &str) -> Option<PaneInput> {
        console.key(Key::Text(text.to_owned()))
    }

    fn denied(text: &str) -> PaneInput {
        PaneInput::Choice {
            dialog: "perm-1".to_owned(),
            key: '2',
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_choice_is_answered_with_the_reason_that_is_typed_next() {
        let (screen, console) = asked();
        assert_eq!(press(&console, "2"), None);
        let shown = screen.text();
        let rows = format!("{REASON_KEYS}\r\n{REASON_PROMPT}");
        assert!(shown.ends_with(&format!("{rows}\r\u{1b}[9C")), "{shown:?}");
        assert_eq!(press(&console, "1"), None, "a key is text now");
        press(&console, " is enough");
        assert_eq!(console.key(Key::Enter), Some(denied("1 is enough")));
        assert_eq!(console.text(), "");
        ask(&console);
        press(&console, "2");
        assert_eq!(console.key(Key::Enter), Some(denied("")), "no reason");
    }

    #[test]
    fn esc_returns_to_the_choices() {
        let (_screen, console) = asked();
        press(&console, "2");
        press(&console, "because");
        assert_eq!(console.key(Key::Interrupt), None);
        assert_eq!(console.text(), "");
        let yes = Some(PaneInput::Choice {
            dialog: "perm-1".to_owned(),
            key: '1',
            text: String::new(),
        });
        assert_eq!(press(&console, "1"), yes);
        ask(&console);
        press(&console, "2");
        assert!(console.clear_line(), "Ctrl-C too");
        assert_eq!(press(&console, "1"), yes);
    }

    #[test]
    fn a_reason_does_not_become_a_prompt_when_its_request_is_answered_elsewhere() {
        let (screen, console) = asked();
        press(&console, "2");
        press(&console, "because");
        console.ask(None, Duration::ZERO);
        assert_eq!(console.text(), "");
        let shown = screen.text();
        assert!(shown.contains("Up returns your text"), "{shown:?}");
        assert_eq!(console.key(Key::Enter), None);
        console.key(Key::Up);
        assert_eq!(console.text(), "because");
    }
}
