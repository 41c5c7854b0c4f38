//! When the next frame of output may be drawn.

use std::time::{Duration, Instant};

/// Shortest time between two frames, as on a screen with 60 of them per second.
const FRAME: Duration = Duration::from_millis(16);

/// Limits the frames of a console: an answer arrives in thousands of pieces, and each frame also
/// redraws the region below the output.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub(super) is_limited: bool,
    /// When the last frame was drawn.
    last: Option<Instant>,
    /// Whether a thread draws the output that waits.
    pub(super) has_thread: bool,
}

impl Frames {
    pub(super) fn drawn(&mut self) {
        self.last = Some(Instant::now());
    }

    /// Returns when the next frame may be drawn; `None` is now.
    pub(super) fn due(&self) -> Option<Instant> {
        let due = self.last.filter(|_| self.is_limited)? + FRAME;
        (due > Instant::now()).then_some(due)
    }
}
