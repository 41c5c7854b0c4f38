//! Keyboard input.

use std::io;
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event};

use super::escape::keys_of;
use super::input::{Key, PaneInput};
use super::keys::key_with_alt;
use super::screen::Console;

/// Reads keys from the terminal on stdin in a separate thread and passes the resulting input to
/// `handle`.
///
/// # Errors
/// If the thread cannot be created. Reading stops silently when the terminal is gone.
pub fn read_keys(
    console: Console,
    mut handle: impl FnMut(PaneInput) + Send + 'static,
) -> io::Result<()> {
    let reader = thread::Builder::new().name("read-keys".to_owned());
    reader
        .spawn(move || {
            while let Ok(event) = event::read() {
                for input in inputs(event, &console) {
                    handle(input);
                }
            }
        })
        .map(drop)
}

/// Like [`read_keys`], for a terminal that this program shares: keys are read once `may_read`
/// returns `true`. It blocks until keys are available and may be read; `false` stops the reader.
pub fn read_keys_when(
    console: Console,
    mut may_read: impl FnMut() -> bool + Send + 'static,
    mut handle: impl FnMut(PaneInput) + Send + 'static,
) -> io::Result<()> {
    let reader = thread::Builder::new().name("read-keys".to_owned());
    let reading = move || -> io::Result<()> {
        while may_read() {
            while event::poll(Duration::ZERO)? {
                for input in inputs(event::read()?, &console) {
                    handle(input);
                }
            }
        }
        Ok(())
    };
    reader.spawn(reading).map(drop)
}

fn inputs(event: Event, console: &Console) -> Vec<PaneInput> {
    let next = |time| match event::poll(time) {
        Ok(true) => event::read().ok(),
        _ => None,
    };
    let keys = match key_with_alt(&event) {
        // On a slow connection Esc and the key after it arrive together, as with Alt.
        Some(key) if console.has_vim_keys() => vec![Key::Interrupt, key],
        _ => keys_of(event, console.escape_time(), next),
    };
    keys.into_iter()
        .filter_map(|key| console.key(key))
        .collect()
}
