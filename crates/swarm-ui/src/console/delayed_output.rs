//! Output that is drawn with the next frame.

use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, MutexGuard};

use super::screen::{Console, Inner};

impl Console {
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
