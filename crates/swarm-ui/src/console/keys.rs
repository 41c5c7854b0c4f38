//! Keyboard input.

use std::io;
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::line::{Key, PaneInput};
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
                if let Some(input) = key_of(event).and_then(|key| console.key(key)) {
                    handle(input);
                }
            }
        })
        .map(drop)
}

/// Like [`read_keys`], for a terminal that this program shares: keys are read once `may_read`
/// returns `true`. It blocks until keys are available and may be read; `false` stops the reader.
///
/// # Errors
/// As for [`read_keys`].
pub fn read_keys_when(
    console: Console,
    mut may_read: impl FnMut() -> bool + Send + 'static,
    mut handle: impl FnMut(PaneInput) + Send + 'static,
) -> io::Result<()> {
    let reader = thread::Builder::new().name("read-keys".to_owned());
    let reading = move || -> io::Result<()> {
        while may_read() {
            while event::poll(Duration::ZERO)? {
                let key = key_of(event::read()?);
                if let Some(input) = key.and_then(|key| console.key(key)) {
                    handle(input);
                }
            }
        }
        Ok(())
    };
    reader.spawn(reading).map(drop)
}

fn key_of(event: Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
        Event::Paste(text) => Some(Key::Text(text)),
        Event::Resize(..) => Some(Key::Resized),
        _ => None,
    }
}

fn of_key(key: KeyEvent) -> Option<Key> {
    let deferred = key.modifiers - KeyModifiers::SHIFT;
    match (key.code, deferred) {
        (KeyCode::Char(c), KeyModifiers::NONE) => Some(Key::Text(c.to_string())),
        (KeyCode::Char(c), KeyModifiers::CONTROL) => of_control(c),
        (KeyCode::Enter, KeyModifiers::NONE) => Some(Key::Enter),
        (KeyCode::Enter, KeyModifiers::ALT) => Some(Key::LineEnd),
        (KeyCode::Up, _) => Some(Key::Up),
        (KeyCode::Down, _) => Some(Key::Down),
        (KeyCode::Backspace, _) => Some(Key::Backspace),
        (KeyCode::Delete, _) => Some(Key::Delete),
        (KeyCode::Left, _) => Some(Key::Left),
        (KeyCode::Right, _) => Some(Key::Right),
        (KeyCode::Home, _) => Some(Key::Home),
        (KeyCode::End, _) => Some(Key::End),
        (KeyCode::PageUp, _) => Some(Key::PageUp),
        (KeyCode::PageDown, _) => Some(Key::PageDown),
        (KeyCode::Tab, _) => Some(Key::Complete),
        (KeyCode::BackTab, _) => Some(Key::CycleMode),
        (KeyCode::Esc, _) => Some(Key::Interrupt),
        _ => None,
    }
}

fn of_control(c: char) -> Option<Key> {
    match c {
        'a' => Some(Key::Home),
        'b' => Some(Key::Background),
        'c' => Some(Key::Interrupt),
        'd' => Some(Key::EndOfInput),
        'e' => Some(Key::End),
        'h' => Some(Key::Backspace),
        'j' | 'm' => Some(Key::Enter),
        'g' => Some(Key::Editor),
        'o' => Some(Key::Expand),
        'r' => Some(Key::Search),
        't' => Some(Key::Team),
        'u' => Some(Key::ClearBefore),
        'w' => Some(Key::DeleteWord),
        'x' => Some(Key::Compact),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_keys_match_the_guide() {
        for (char, key) in [
            ('b', Key::Background),
            ('c', Key::Interrupt),
            ('d', Key::EndOfInput),
            ('x', Key::Compact),
        ] {
            let event = KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL);
            assert_eq!(key_of(Event::Key(event)), Some(key), "Ctrl-{char}");
        }
    }
}
