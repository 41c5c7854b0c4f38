//! A lead's terminal without a screen: whole lines are read and printed, as screen readers and
//! terminals without cursor control need it.

use std::io::Write;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_ui::{Alert, Dialog, PaneInput};

use crate::output::say;

/// A terminal without a screen.
#[derive(Debug, Default)]
pub(super) struct PlainTerminal {
    asked: Mutex<Option<Asked>>,
    alert: Mutex<Alert>,
}

#[derive(Debug)]
struct Asked {
    dialog: Dialog,
    /// Lines typed before this time do not answer it.
    armed_at: Instant,
}

impl PlainTerminal {
    /// Sets the question, which replaces the one before; `None` withdraws it.
    pub(super) fn ask(&self, dialog: Option<Dialog>, unarmed: Duration) {
        *self.asked.lock() = dialog.map(|dialog| Asked {
            dialog,
            armed_at: Instant::now() + unarmed,
        });
    }

    /// Sets how the person is notified.
    pub(super) fn set_alert(&self, alert: Alert) {
        *self.alert.lock() = alert;
    }

    /// Notifies the person on the terminal `out`.
    pub(super) fn call(&self, why: &str, out: &mut dyn Write) {
        let sequence = self.alert.lock().sequence(why);
        // A terminal that cannot be written to must not stop the lead.
        out.write_all(sequence.as_bytes())
            .and_then(|()| out.flush())
            .ok();
    }

    /// Returns the meaning of a line: the answer to the question, or a line for the lead. `None` if
    /// the line is blank, or may have been typed before the question appeared.
    pub(super) fn input(&self, line: &str) -> Option<PaneInput> {
        if line.trim().is_empty() {
            return None;
        }
        let mut asked = self.asked.lock();
        let (Some(key), Some(open)) = (number(line), asked.as_ref()) else {
            return Some(PaneInput::Line(line.to_owned()));
        };
        if !open.dialog.choices.iter().any(|choice| choice.key == key) {
            say(&format!("{key} is not one of the choices"));
            return None;
        }
        if Instant::now() < open.armed_at {
            say("the question has just appeared: type the number again to answer it");
            return None;
        }
        let dialog = asked.take()?.dialog.id;
        let text = String::new();
        Some(PaneInput::Choice { dialog, key, text })
    }
}

/// Returns the digit that a line consists of.
fn number(line: &str) -> Option<char> {
    let mut typed = line.trim().chars();
    let key = typed.next().filter(char::is_ascii_digit)?;
    typed.next().is_none().then_some(key)
}

/// Returns a question with its details and choices.
pub(super) fn text_of(dialog: &Dialog) -> String {
    let choices = dialog.choices.iter();
    let choices = choices.map(|choice| format!("  {}: {}", choice.key, choice.label));
    // A single choice declines questions, which a command answers.
    let how = match &dialog.choices[..] {
        [] => None,
        [only] => Some(format!("type {} and Enter to decline", only.key)),
        _ => Some("type a number and Enter to answer".to_owned()),
    };
    let lines = std::iter::once(dialog.question.clone())
        .chain(dialog.details.iter().cloned())
        .chain(choices)
        .chain(how);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use swarm_ui::Choice;

    use super::*;

    fn dialog() -> Dialog {
        Dialog {
            id: "perm-1".to_owned(),
            question: "bob asks: Bash touch made".to_owned(),
            details: vec!["  why: no rule covers it".to_owned()],
            choices: vec![Choice::new('1', "yes, this once"), Choice::new('2', "no")],
            ..Dialog::default()
        }
    }

    #[test]
    fn a_number_answers_the_question_that_is_open_and_is_a_line_otherwise() {
        let terminal = PlainTerminal::default();
        let line = |text: &str| Some(PaneInput::Line(text.to_owned()));
        assert_eq!(terminal.input("1"), line("1"));
        terminal.ask(Some(dialog()), Duration::ZERO);
        for text in ["12", "1 more", "y"] {
            assert_eq!(terminal.input(text), line(text));
        }
        for blank in ["", " \t"] {
            assert_eq!(terminal.input(blank), None, "it is not a prompt");
        }
        assert_eq!(terminal.input("3"), None, "it is not a choice");
        let answer = PaneInput::Choice {
            dialog: "perm-1".to_owned(),
            key: '1',
            text: String::new(),
        };
        assert_eq!(terminal.input(" 1 "), Some(answer));
        assert_eq!(terminal.input("1"), line("1"), "it was answered");
        terminal.ask(Some(dialog()), Duration::from_hours(1));
        assert_eq!(terminal.input("1"), None, "it may have been typed before");
        terminal.ask(None, Duration::ZERO);
        assert_eq!(terminal.input("1"), line("1"), "it was withdrawn");
    }

    #[test]
    fn the_person_is_notified_as_the_settings_say() {
        let terminal = PlainTerminal::default();
        let mut out = Vec::new();
        terminal.call("bob asks", &mut out);
        terminal.set_alert(Alert {
            bell: false,
            ..Alert::default()
        });
        terminal.call("bob asks", &mut out);
        assert_eq!(out, b"\x07");
    }

    #[test]
    fn a_question_is_printed_with_its_details_and_choices() {
        assert_eq!(
            text_of(&dialog()),
            "bob asks: Bash touch made\n  why: no rule covers it\n  1: yes, this once\n  2: no\n\
             type a number and Enter to answer"
        );
    }
}
