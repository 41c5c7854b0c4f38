//! Output that is drawn with the next frame.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, MutexGuard};

use super::screen::{Console, Inner};

impl Console {
    /// Returns a writer for output.
    pub fn writer(&self) -> ConsoleWriter {
        ConsoleWriter {
            console: self.clone(),
            waiting: Vec::new(),
        }
    }

    /// Draws output at most once in 16 ms. Keys are drawn immediately.
    pub fn limit_frames(&self) {
        self.inner.lock().frames.is_limited = true;
    }

    /// Draws the output that waits as soon as the next frame is due. A terminal that was given back
    /// gets it now.
    pub(super) fn draw_when_due(&self, mut inner: MutexGuard<'_, Inner>) {
        if inner.is_closed || inner.frames.due().is_none() {
            return inner.draw_output();
        }
        if inner.frames.has_thread {
            return;
        }
        let shared = Arc::clone(&self.inner);
        let drawing = move || draw_frames(shared.lock());
        let thread = thread::Builder::new().name("draw-frames".to_owned());
        match thread.spawn(drawing) {
            Ok(_) => inner.frames.has_thread = true,
            Err(_) => inner.draw_output(),
        }
    }
}

/// Output of a pane, displayed on flush.
#[derive(Debug)]
pub struct ConsoleWriter {
    console: Console,
    waiting: Vec<u8>,
}

impl Write for ConsoleWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            let mut inner = self.console.inner.lock();
            inner.add_output(&String::from_utf8_lossy(&waiting));
            self.console.draw_when_due(inner);
        }
        Ok(())
    }
}

/// Draws frames until there is no more output.
fn draw_frames(mut inner: MutexGuard<'_, Inner>) {
    let never = Condvar::new();
    while inner.has_output() {
        while let Some(due) = inner.frames.due() {
            never.wait_until(&mut inner, due);
        }
        inner.draw_output();
    }
    inner.frames.has_thread = false;
}
