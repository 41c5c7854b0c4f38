//! A screen of a test: what was drawn on it can be read.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

/// Shared by its clones.
#[derive(Clone, Default)]
pub(super) struct Screen(Arc<Mutex<Vec<u8>>>);

impl Screen {
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().clone()
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
