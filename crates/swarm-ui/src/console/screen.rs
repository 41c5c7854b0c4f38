//! Output above the input line, without interference between the two.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_protocol::partial_debug;

use super::alert::Alert;
use super::dialog::Dialog;
use super::editor_mode::EditorMode;
use super::escape::ESCAPE_TIME;
use super::form::Form;
use super::frames::Frames;
use super::full_screen::Cover;
use super::input::{Key, PaneInput};
use super::line::{InputLine, MAX_LENGTH};
use super::open_dialog::OpenDialog;
use super::styled::{column_after, without_titles};
use super::team_panel::{Addressee, PanelContent, TeamPanel};
use crate::theme::{HeightSource, Theme, WidthSource};

/// Bracketed paste mode: a paste arrives as one piece, so that its line breaks are not Enter keys.
const PASTE_MARKS_ON: &str = "\u{1b}[?2004h";
const PASTE_MARKS_OFF: &str = "\u{1b}[?2004l";

/// The key that dismisses a dialog.
const DISMISS: char = '\u{1b}';

/// Default width in columns if it is unknown.
const USUAL_WIDTH: usize = 80;

/// The terminal of a pane. Clones share it. Output is written through a [`super::ConsoleWriter`];
/// keys come from [`super::read_keys`].
#[derive(Clone)]
pub struct Console {
    pub(super) inner: Arc<Mutex<Inner>>,
}

pub(super) struct Inner {
    out: Box<dyn Write + Send>,
    /// Receives the output without the input line.
    copy: Box<dyn Write + Send>,
    pub(super) theme: Theme,
    width: WidthSource,
    pub(super) height: HeightSource,
    pub(super) prompt: String,
    pub(super) line: InputLine,
    /// Output that is not drawn yet.
    waiting: String,
    pub(super) frames: Frames,
    /// Number of columns of output after its last line break.
    pub(super) column: usize,
    /// Dialog above the input line.
    pub(super) dialog: Option<OpenDialog>,
    /// Forms whose dialogs were closed and may be opened again, by the id of the dialog.
    pub(super) closed_forms: BTreeMap<String, Form>,
    /// Status lines above the input line.
    pub(super) status: Vec<String>,
    /// Lines that wait for the end of the turn; `None` if lines never wait.
    pub(super) queued: Option<Vec<String>>,
    /// Notice about the last key.
    pub(super) note: Option<String>,
    pub(super) complete: Option<Completer>,
    attach: Option<Attacher>,
    pub(super) alert: Alert,
    /// The question that is the title of the terminal.
    pub(super) title: Option<String>,
    /// Longest pause in the sequence of a key.
    escape_time: Duration,
    /// The region below the output as drawn.
    pub(super) painted: Option<Painted>,
    pub(super) is_closed: bool,
    /// Output that is deferred while another program or a view uses the terminal.
    pub(super) deferred: Option<String>,
    /// The view that covers the terminal.
    pub(super) cover: Option<Cover>,
    pub(super) panel: Option<TeamPanel>,
    /// What the team panel shows; `None` if this terminal has no panel.
    pub(super) team: Option<PanelContent>,
    /// Who gets the typed text, unless it is the agent of this terminal.
    pub(super) addressee: Option<Addressee>,
}

/// Returns the start of the word at the end of a text and its completions.
pub type Completer = Box<dyn Fn(&str) -> (usize, Vec<String>) + Send>;

/// Returns what replaces a pasted text, unless it is inserted as it is.
pub type Attacher = Box<dyn Fn(&str) -> Option<String> + Send>;

/// The region below the output: the dialog and the input line.
pub(super) struct Painted {
    /// Widths of the lines above the cursor line.
    pub(super) above: Vec<usize>,
    /// Number of columns before the cursor in its line.
    pub(super) before: usize,
}

impl Painted {
    /// Returns the number of rows above the cursor. A line occupies several rows after the terminal
    /// became narrower.
    pub(super) fn rows(&self, width: usize) -> usize {
        let above = self.above.iter().map(|line| line.div_ceil(width).max(1));
        above.sum::<usize>() + self.before / width
    }
}

partial_debug!(Console);

impl Console {
    /// Creates a console that is opened later with [`Self::reopen`]. Until then output is written
    /// unchanged. `copy` receives the output without the input line, which begins with `prompt`.
    pub fn closed(
        out: Box<dyn Write + Send>,
        copy: Box<dyn Write + Send>,
        theme: Theme,
        width: WidthSource,
        prompt: &str,
    ) -> Self {
        let inner = Inner {
            out,
            copy,
            theme,
            width,
            height: Box::new(|| None),
            prompt: prompt.to_owned(),
            line: InputLine::default(),
            waiting: String::new(),
            frames: Frames::default(),
            column: 0,
            dialog: None,
            closed_forms: BTreeMap::new(),
            status: Vec::new(),
            queued: None,
            note: None,
            complete: None,
            attach: None,
            alert: Alert::default(),
            title: None,
            escape_time: ESCAPE_TIME,
            painted: None,
            is_closed: true,
            deferred: None,
            cover: None,
            panel: None,
            team: None,
            addressee: None,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// Sets the source of the terminal's height in rows.
    pub fn measure_height(&self, height: HeightSource) {
        self.inner.lock().height = height;
    }

    /// Opens it on a terminal in raw mode, and shows the input line.
    #[must_use]
    pub fn opened(self) -> Self {
        self.reopen();
        self
    }

    /// Shows the input line again after [`Self::close`].
    pub fn reopen(&self) {
        let mut inner = self.inner.lock();
        if !inner.is_closed {
            return;
        }
        inner.is_closed = false;
        let deferred = inner.deferred.take();
        let mut frame = PASTE_MARKS_ON.to_owned();
        inner.paint(&mut frame);
        inner.send(&frame);
        if let Some(deferred) = deferred {
            inner.write_deferred(&deferred);
        }
        inner.follow_title();
        inner.cover_again();
    }

    /// Hides the input line while another program uses the terminal. Output is deferred until
    /// [`Self::reopen`].
    pub fn suspend(&self) {
        self.close();
        self.inner.lock().deferred = Some(String::new());
    }

    /// Redraws the input line for the current size of the terminal.
    pub fn resized(&self) {
        self.key(Key::Resized);
    }

    /// Removes the input line and releases the terminal; later output is written unchanged.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        if inner.is_closed {
            return;
        }
        inner.uncover();
        inner.draw_output();
        let mut frame = String::new();
        inner.erase(&mut frame);
        frame.push_str(PASTE_MARKS_OFF);
        inner.send(&frame);
        inner.is_closed = true;
        inner.follow_title();
    }

    /// Clears the input line, and returns from a reason to its dialog. Returns whether there was a text
    /// or a reason.
    pub fn clear_line(&self) -> bool {
        let mut inner = self.inner.lock();
        if inner.is_closed || (inner.line.is_empty() && !inner.is_explaining()) {
            return false;
        }
        inner.repaint(Inner::drop_reason);
        true
    }

    /// Replaces the dialog, or removes it. Its keys are accepted once it was shown for the time
    /// `unarmed` and while the input line is empty; Esc dismisses it, which is an answer too.
    /// Notifies the person.
    pub fn ask(&self, dialog: Option<Dialog>, unarmed: Duration) {
        let mut inner = self.inner.lock();
        let call = dialog
            .as_ref()
            .filter(|_| !inner.is_closed)
            .map(|dialog| inner.alert.sequence(&dialog.question));
        inner.repaint(|inner| {
            inner.keep_reason();
            inner.open_dialog(dialog, unarmed);
        });
        if let Some(call) = call {
            inner.send(&call);
        }
        inner.follow_title();
    }

    /// Sets how the person is notified.
    pub fn set_alert(&self, alert: Alert) {
        self.inner.lock().alert = alert;
    }

    /// Notifies a person who may not be looking at the terminal.
    pub fn call(&self, why: &str) {
        let mut inner = self.inner.lock();
        if !inner.is_closed {
            let call = inner.alert.sequence(why);
            inner.send(&call);
        }
    }

    /// Selects the keys of the input line.
    pub fn set_editor_mode(&self, mode: EditorMode) {
        self.inner.lock().line.set_editor_mode(mode);
    }

    /// Sets how long after an Esc the rest of a key's sequence may arrive.
    pub fn set_escape_time(&self, time: Duration) {
        self.inner.lock().escape_time = time;
    }

    pub(super) fn escape_time(&self) -> Duration {
        self.inner.lock().escape_time
    }

    pub(super) fn has_vim_keys(&self) -> bool {
        self.inner.lock().line.vim.is_some()
    }

    /// Sets the completer for Tab.
    pub fn complete_with(&self, complete: Completer) {
        self.inner.lock().complete = Some(complete);
    }

    /// Sets what replaces pasted text, such as paths of images.
    pub fn attach_with(&self, attach: Attacher) {
        self.inner.lock().attach = Some(attach);
    }

    /// Returns the text of the input line.
    pub fn text(&self) -> String {
        self.inner.lock().line.text().to_owned()
    }

    /// Replaces the text of the input line.
    pub fn set_text(&self, text: &str) {
        let mut inner = self.inner.lock();
        inner.repaint(|inner| inner.line.set_text(text));
    }

    /// Inserts a text as if it had been pasted, also while a view covers the terminal.
    pub fn paste(&self, text: &str) {
        let mut inner = self.inner.lock();
        inner.repaint(|inner| inner.key(Key::Pasted(text.to_owned())));
    }

    /// Sets the status lines above the input line.
    pub fn set_status(&self, status: Vec<String>) {
        let mut inner = self.inner.lock();
        if inner.status != status {
            inner.repaint(|inner| inner.status = status);
        }
    }

    /// Adds lines of earlier sessions to the history, oldest first.
    pub fn remember(&self, lines: Vec<String>) {
        self.inner.lock().line.remember(lines);
    }

    pub(crate) fn key(&self, key: Key) -> Option<PaneInput> {
        let mut inner = self.inner.lock();
        if inner.is_closed {
            return None;
        }
        if inner.cover.is_some() {
            return inner.cover_key(&key);
        }
        if inner.opens_dialog(&key) {
            inner.page_dialog();
            return None;
        }
        let said = inner.repaint(|inner| inner.key(key));
        // The key may have removed the dialog.
        inner.follow_title();
        said
    }
}

impl Inner {
    /// Applies a change to the region below the output and redraws it.
    pub(super) fn repaint<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        if self.cover.is_some() {
            let done = change(self);
            self.draw_cover();
            return done;
        }
        self.draw_frame(change)
    }

    /// The same in the normal screen, together with the output that waits.
    fn draw_frame<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let mut frame = String::new();
        self.erase(&mut frame);
        let output = std::mem::take(&mut self.waiting);
        if let Some(deferred) = &mut self.deferred {
            deferred.push_str(&output);
        } else {
            frame.push_str(&output);
            self.column = column_after(self.column, &output);
        }
        let done = change(self);
        if !self.is_closed {
            self.paint(&mut frame);
        }
        if !frame.is_empty() {
            self.send(&frame);
        }
        self.frames.drawn();
        done
    }

    /// Passes a key to the dialog if it is one of its choices, otherwise to the input line.
    fn key(&mut self, key: Key) -> Option<PaneInput> {
        if key == Key::Complete
            && let (Some(text), Some(complete)) = (self.line.to_complete(), &self.complete)
        {
            let (start, words) = complete(text);
            self.line.offer(start, words);
        }
        // Shell lines, commands, messages to members and answers contain the pasted text itself.
        let is_prompt = self.addressee.is_none()
            && !self.is_explaining()
            && !self.form_takes_text()
            && !self.line.text().starts_with(['!', '/']);
        let key = match (key, self.attach.as_ref().filter(|_| is_prompt)) {
            (Key::Pasted(text), Some(attach)) => Key::Pasted(attach(&text).unwrap_or(text)),
            (key, _) => key,
        };
        let said = match self.panel_key(key) {
            Ok(said) => said,
            Err(key) => self.dialog_or_line_key(key),
        };
        let said = said.map(|said| self.addressed(said));
        self.note = match self.line.take_left_out() {
            0 => None,
            left_out => Some(format!(
                "{left_out} bytes of the paste were dropped: messages are limited to {} KiB; put the text into a file",
                MAX_LENGTH / 1024
            )),
        };
        said
    }

    fn dialog_or_line_key(&mut self, key: Key) -> Option<PaneInput> {
        if self.is_explaining() {
            return self.reason_key(key);
        }
        let key = match self.form_key(key) {
            Ok(said) => return said,
            Err(key) => key,
        };
        let key = match self.queue_key(key) {
            Ok(said) => return Some(said),
            Err(key) => key,
        };
        let Some(open) = self.dialog.as_ref().filter(|_| self.line.is_idle()) else {
            let said = self.line.key(key);
            let has_form = self.dialog.as_ref().is_some_and(|open| open.form.is_some());
            if has_form && said == Some(PaneInput::Interrupt) {
                // The end of the turn would discard the answers.
                self.line.clear();
                return None;
            }
            return said;
        };
        let chosen = match &key {
            Key::Text(text) => open.chosen(text),
            Key::Interrupt => Some(DISMISS),
            _ => None,
        };
        match chosen {
            Some(chosen) => self.choose(chosen),
            None => self.line.key(key),
        }
    }

    pub(super) fn columns(&self) -> usize {
        (self.width)().unwrap_or(USUAL_WIDTH).max(1)
    }

    /// Writes output that was deferred at its last position, and redraws the input line below it.
    pub(super) fn write_deferred(&mut self, output: &str) {
        self.waiting.insert_str(0, output);
        self.draw_frame(|_| ());
    }

    /// Adds output, which [`Self::draw_output`] draws.
    pub(super) fn add_output(&mut self, output: &str) {
        let copy = without_titles(output);
        self.copy.write_all(copy.as_bytes()).ok();
        self.copy.flush().ok();
        self.waiting.push_str(output);
    }

    /// Returns whether output is not drawn yet.
    pub(super) fn has_output(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn draw_output(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        if let Some(deferred) = &mut self.deferred {
            deferred.push_str(&std::mem::take(&mut self.waiting));
            self.output_arrived();
            self.frames.drawn();
        } else {
            self.draw_frame(|_| ());
        }
    }

    /// A single write avoids flicker. A terminal that cannot be written to must not stop an agent.
    pub(super) fn send(&mut self, frame: &str) {
        self.out.write_all(frame.as_bytes()).ok();
        self.out.flush().ok();
    }
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
