//! A terminal emulator as a writer. The tests of whole screens include this file.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::Arc;

use parking_lot::Mutex;

/// Shared by its clones.
#[derive(Clone)]
pub(crate) struct Emulator(pub(crate) Arc<Mutex<vt100::Parser>>);

impl Write for Emulator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // As the terminal driver does with the output of a program.
        let text = String::from_utf8_lossy(bytes)
            .replace("\r\n", "\n")
            .replace('\n', "\r\n");
        self.0.lock().process(text.as_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Emulator {
    pub(crate) fn new((columns, rows): (u16, u16)) -> Self {
        let [columns, rows] =
            [columns, rows].map(|size| NonZero::new(size).unwrap_or(NonZero::<u16>::MIN));
        Self(Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0))))
    }

    /// Returns the rows of the screen.
    pub(crate) fn rows(&self) -> Vec<String> {
        let parser = self.0.lock();
        let columns = parser.screen().size().1.get();
        let rows = parser.screen().rows(0, columns);
        rows.map(|row| row.trim_end().to_owned()).collect()
    }
}
