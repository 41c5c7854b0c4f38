//! Dialogs that appear and disappear, and the keys of their forms.

use std::time::Duration;

use super::dialog::{Dialog, FormAnswer};
use super::form::FormStep;
use super::input::{Key, PaneInput};
use super::open_dialog::OpenDialog;
use super::reason::OWN_WORDS;
use super::screen::Inner;

impl Inner {
    /// Replaces the dialog. A form that is opened again has its answers.
    pub(super) fn open_dialog(&mut self, dialog: Option<Dialog>, unarmed: Duration) {
        self.close_dialog();
        self.dialog = dialog.map(|dialog| {
            let mut open = OpenDialog::new(dialog, unarmed);
            let closed = self.closed_forms.remove(&open.dialog.id);
            if let Some(form) = closed.filter(|form| form.questions == open.dialog.form) {
                open.form = Some(form);
            }
            open
        });
    }

    /// Removes the dialog. Returns its id.
    pub(super) fn close_dialog(&mut self) -> Option<String> {
        let open = self.dialog.take()?;
        let id = open.dialog.id;
        if let Some(form) = open.form {
            self.closed_forms.insert(id.clone(), form);
        }
        Some(id)
    }

    /// Returns whether typed and pasted text is for the form of the dialog.
    pub(super) fn form_takes_text(&self) -> bool {
        let open = self.dialog.as_ref().filter(|open| open.is_armed());
        self.line.is_idle() && open.is_some_and(|open| open.form.is_some())
    }

    /// Passes a key to the form of the dialog; returns it if it is not for the form.
    pub(super) fn form_key(&mut self, key: Key) -> Result<Option<PaneInput>, Key> {
        let open = self.dialog.as_mut().filter(|open| open.is_armed());
        let form = open.and_then(|open| open.form.as_mut());
        let Some(form) = form.filter(|_| self.line.is_idle()) else {
            return Err(key);
        };
        match form.key(&key) {
            None => return Err(key),
            Some(FormStep::Stay) => {}
            Some(FormStep::Choose(key)) => return Ok(self.choose(key)),
            Some(FormStep::Type(text)) => {
                self.line.set_text(&text);
                self.explain(OWN_WORDS);
            }
            Some(FormStep::Send(answers)) => return Ok(self.send_form(answers)),
        }
        Ok(None)
    }

    pub(super) fn send_form(&mut self, answers: Vec<FormAnswer>) -> Option<PaneInput> {
        let dialog = self.close_dialog()?;
        self.closed_forms.remove(&dialog);
        Some(PaneInput::Form { dialog, answers })
    }
}
