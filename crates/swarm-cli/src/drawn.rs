//! What a view or a console draws, as text.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;

/// A writer that keeps what is written to it or a clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drawn(Arc<Mutex<Vec<u8>>>);

impl Drawn {
    /// Takes what was written so far.
    pub(crate) fn take(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.0.lock())).into_owned()
    }
}

impl Write for Drawn {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
