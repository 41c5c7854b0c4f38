//! A console that is covered by a view of the whole terminal.

use super::document::TextDocument;
use super::full_screen::{Area, Cover, ENTER, FullScreen, LEAVE, Step};
use super::input::{Key, PaneInput};
use super::open_dialog::OpenDialog;
use super::pager::Pager;
use super::picker::Picker;
use super::screen::{Console, Inner};

/// Default height in rows if it is unknown.
const USUAL_HEIGHT: usize = 24;

impl Console {
    /// Covers the terminal with a pager until a key closes it. Output is deferred meanwhile.
    pub fn page(&self, pager: Pager) {
        self.inner.lock().cover_with(Box::new(pager));
    }

    /// Covers the terminal with a picker until an item is picked or Esc is pressed.
    pub fn pick(&self, picker: Picker) {
        self.inner.lock().cover_with(Box::new(picker));
    }

    /// Returns whether a text of this many lines needs a pager.
    pub fn is_longer_than_screen(&self, lines: usize) -> bool {
        let inner = self.inner.lock();
        // The output stays together with the input line and the status.
        lines + SURROUNDINGS > inner.rows()
    }

    /// Closes the view that covers the terminal. Returns whether there was one.
    pub fn close_view(&self) -> bool {
        let mut inner = self.inner.lock();
        let is_covered = inner.cover.is_some() && !inner.is_closed;
        if is_covered {
            inner.end_cover();
        }
        is_covered
    }
}

/// Rows of the screen besides the output of a command.
const SURROUNDINGS: usize = 4;

impl Inner {
    pub(super) fn rows(&self) -> usize {
        (self.height)().unwrap_or(USUAL_HEIGHT)
    }

    /// Returns the size of a view: all rows but the last one.
    fn area(&self) -> Area {
        Area {
            columns: self.columns(),
            rows: self.rows().saturating_sub(1).max(1),
            theme: self.theme,
        }
    }

    /// Returns the number of rows for the dialog: one of the output and the input line stay visible.
    pub(super) fn rows_for_dialog(&self) -> usize {
        self.rows().saturating_sub(self.status.len() + 2)
    }

    /// Returns whether a key shows the whole dialog: Tab, while the line is empty; Ctrl-O in a form.
    pub(super) fn opens_dialog(&self, key: &Key) -> bool {
        let is_form = (self.dialog.as_ref()).is_some_and(|open| open.form.is_some());
        let opening = if is_form { Key::Expand } else { Key::Complete };
        let is_key = *key == opening && self.line.is_empty() && !self.has_panel_focus();
        let room = self.columns().saturating_sub(1);
        let rows = self.rows_for_dialog();
        let is_cut = |open: &OpenDialog| open.is_cut(room, rows);
        is_key && self.dialog.as_ref().is_some_and(is_cut)
    }

    /// Shows the whole dialog in a pager.
    pub(super) fn page_dialog(&mut self) {
        if let Some(open) = &self.dialog {
            let document = TextDocument::new(&open.in_full());
            let title = open.dialog.question.clone();
            self.cover_with(Box::new(Pager::new(title, Box::new(document))));
        }
    }

    pub(super) fn cover_with(&mut self, view: Box<dyn FullScreen>) {
        if self.is_closed {
            return;
        }
        let was_covered = self.cover.replace(Cover::new(view)).is_some();
        if was_covered {
            return self.draw_cover();
        }
        self.cover_again();
    }

    /// Switches to the alternate screen if there is a view.
    pub(super) fn cover_again(&mut self) {
        let Some(cover) = &mut self.cover else { return };
        cover.invalidate();
        self.deferred.get_or_insert_default();
        self.send(ENTER);
        self.draw_cover();
    }

    /// Returns to the normal screen, and writes the deferred output there.
    pub(super) fn uncover(&mut self) {
        if self.cover.is_none() {
            return;
        }
        self.send(LEAVE);
        if let Some(deferred) = self.deferred.take().filter(|deferred| !deferred.is_empty()) {
            self.write_deferred(&deferred);
        }
    }

    fn end_cover(&mut self) {
        self.send(LEAVE);
        self.cover = None;
        let deferred = self.deferred.take().unwrap_or_default();
        if let Some(dialog) = &mut self.dialog {
            // The person sees it only now.
            dialog.arm();
        }
        // Also draws the region below the output, which may have changed.
        self.write_deferred(&deferred);
    }

    pub(super) fn draw_cover(&mut self) {
        let area = self.area();
        let waiting = self
            .dialog
            .as_ref()
            .map(|open| open.dialog.question.clone());
        if let Some(cover) = self.cover.as_mut().filter(|_| !self.is_closed) {
            let frame = cover.frame(area, waiting.as_deref());
            self.send(&frame);
        }
    }

    pub(super) fn cover_key(&mut self, key: &Key) -> Option<PaneInput> {
        let area = self.area();
        let cover = self.cover.as_mut()?;
        if *key == Key::Resized {
            cover.invalidate();
        }
        match cover.view.key(key, area) {
            Step::Stay => self.draw_cover(),
            Step::Close => self.end_cover(),
            Step::Done(input) => {
                self.end_cover();
                return Some(input);
            }
        }
        None
    }

    pub(super) fn output_arrived(&mut self) {
        let area = self.area();
        let cover = self.cover.as_mut().filter(|_| !self.is_closed);
        if cover.is_some_and(|cover| cover.view.output_arrived(area)) {
            self.draw_cover();
        }
    }
}
