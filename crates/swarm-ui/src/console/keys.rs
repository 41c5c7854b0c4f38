//! Keys of a terminal.

use std::io;
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::line::{Key, PaneInput};
use super::screen::Console;

/// Reads the keys that are typed into the terminal on stdin, in a thread of its own that sleeps until one comes. What
/// the person wants by them is told to `tell`.
///
/// # Errors
/// When there is no thread to be had. Reading ends without a word when the terminal is gone.
pub fn read_keys(
    console: Console,
    mut tell: impl FnMut(PaneInput) + Send + 'static,
) -> io::Result<()> {
    let reader = thread::Builder::new().name("reads keys".to_owned());
    reader
        .spawn(move || {
            while let Ok(event) = event::read() {
                if let Some(input) = key_of(event).and_then(|key| console.key(key)) {
                    tell(input);
                }
            }
        })
        .map(drop)
}

/// The same for a terminal that is not always this program's: keys are read when `may_read` has returned `true`. It waits
/// until there are some and reading them is allowed; `false` ends the reading.
///
/// # Errors
/// As [`read_keys`].
pub fn read_keys_when(
    console: Console,
    mut may_read: impl FnMut() -> bool + Send + 'static,
    mut tell: impl FnMut(PaneInput) + Send + 'static,
) -> io::Result<()> {
    let reader = thread::Builder::new().name("reads keys".to_owned());
    let reading = move || -> io::Result<()> {
        while may_read() {
            while event::poll(Duration::ZERO)? {
                let key = key_of(event::read()?);
                if let Some(input) = key.and_then(|key| console.key(key)) {
                    tell(input);
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
    let held = key.modifiers - KeyModifiers::SHIFT;
    match (key.code, held) {
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
    fn control_keys_are_what_the_guide_says() {
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
