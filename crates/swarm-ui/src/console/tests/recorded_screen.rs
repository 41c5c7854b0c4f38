//! A screen of a test: what was drawn on it can be read.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Console;
use crate::theme::Theme;

/// Shared by its clones.
#[derive(Clone, Default)]
pub(super) struct Screen(Arc<Mutex<Vec<u8>>>);

impl Screen {
    /// Opens a console of this width on a new screen.
    pub(super) fn console(width: usize, prompt: &str) -> (Self, Console) {
        let screen = Self::default();
        let console = Console::closed(
            Box::new(screen.clone()),
            Box::new(io::sink()),
            Theme::PLAIN,
            Box::new(move || Some(width)),
            prompt,
        )
        .opened();
        (screen, console)
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
