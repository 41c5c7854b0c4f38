//! Keyboard input.

use std::io;
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::input::{Key, PaneInput};
use super::screen::Console;

/// Longest pause within the sequence of a key. A person who presses Esc and another key is slower.
const SPLIT: Duration = Duration::from_millis(50);

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
    let keys = keys_of(event, || match event::poll(SPLIT) {
        Ok(true) => event::read().ok(),
        _ => None,
    });
    keys.into_iter()
        .filter_map(|key| console.key(key))
        .collect()
}

/// Returns the keys of an event. On a slow connection, the sequence of a key may arrive in pieces,
/// of which the first is read as Esc and the others as text. `next` returns the event that follows
/// within [`SPLIT`].
fn keys_of(event: Event, mut next: impl FnMut() -> Option<Event>) -> Vec<Key> {
    if event != Event::Key(KeyCode::Esc.into()) {
        return key_of(event).into_iter().collect();
    }
    let mut keys = vec![Key::Interrupt];
    let Some(after) = next() else {
        return keys;
    };
    let Some(intro @ ('[' | 'O')) = char_of(&after) else {
        keys.extend(keys_of(after, next));
        return keys;
    };
    let mut sequence = String::new();
    while let Some(event) = next() {
        let Some(c) = char_of(&event) else {
            keys.push(Key::Text(format!("{intro}{sequence}")));
            keys.extend(key_of(event));
            return keys;
        };
        sequence.push(c);
        if !matches!(c, '0'..='9' | ';') {
            return match sequence.as_str() {
                "200~" => vec![Key::Text(pasted(next))],
                sequence => key_of_sequence(sequence).into_iter().collect(),
            };
        }
    }
    keys.push(Key::Text(format!("{intro}{sequence}")));
    keys
}

/// Returns the text of a paste whose beginning was split: what follows without a pause.
fn pasted(next: impl FnMut() -> Option<Event>) -> String {
    let texts = std::iter::from_fn(next).filter_map(|event| match event {
        Event::Paste(text) => Some(text),
        event => match key_of(event)? {
            Key::Text(text) => Some(text),
            Key::Enter => Some("\n".to_owned()),
            _ => None,
        },
    });
    texts.collect()
}

/// Returns the key of a sequence without its introduction; `None` for other sequences.
fn key_of_sequence(sequence: &str) -> Option<Key> {
    let number = sequence.split([';', '~']).next()?;
    match (sequence.chars().last()?, number) {
        ('A', _) => Some(Key::Up),
        ('B', _) => Some(Key::Down),
        ('C', _) => Some(Key::Right),
        ('D', _) => Some(Key::Left),
        ('H', _) | ('~', "1" | "7") => Some(Key::Home),
        ('F', _) | ('~', "4" | "8") => Some(Key::End),
        ('Z', _) => Some(Key::CycleMode),
        ('~', "3") => Some(Key::Delete),
        ('~', "5") => Some(Key::PageUp),
        ('~', "6") => Some(Key::PageDown),
        _ => None,
    }
}

fn char_of(event: &Event) -> Option<char> {
    match event {
        Event::Key(KeyEvent {
            code: KeyCode::Char(c),
            ..
        }) => Some(*c),
        _ => None,
    }
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

    /// The keys of events that follow each other without a pause; the first is Esc.
    fn after_esc(events: &[Event]) -> Vec<Key> {
        let mut events = events.iter().cloned();
        keys_of(Event::Key(KeyCode::Esc.into()), || events.next())
    }

    fn typed(text: &str) -> Vec<Event> {
        let event = |c| match c {
            '\n' => Event::Key(KeyCode::Enter.into()),
            c => Event::Key(KeyCode::Char(c).into()),
        };
        text.chars().map(event).collect()
    }

    #[test]
    fn a_sequence_in_pieces_is_one_key() {
        for (rest, key) in [
            ("[A", Key::Up),
            ("OD", Key::Left),
            ("[1;5C", Key::Right),
            ("[3~", Key::Delete),
            ("[Z", Key::CycleMode),
            ("[200~a\nb", Key::Text("a\nb".to_owned())),
        ] {
            assert_eq!(after_esc(&typed(rest)), [key], "{rest}");
        }
        assert_eq!(after_esc(&typed("[20~")), [], "a key without a meaning");
    }

    #[test]
    fn esc_before_a_pause_or_another_key_interrupts() {
        let text = |text: &str| Key::Text(text.to_owned());
        assert_eq!(after_esc(&[]), [Key::Interrupt]);
        let esc = Event::Key(KeyCode::Esc.into());
        let both = [Key::Interrupt, Key::Interrupt];
        assert_eq!(after_esc(std::slice::from_ref(&esc)), both);
        assert_eq!(after_esc(&typed("x")), [Key::Interrupt, text("x")]);
        assert_eq!(after_esc(&typed("[")), [Key::Interrupt, text("[")]);
        let cut = [typed("[1"), vec![esc]].concat();
        let keys = [Key::Interrupt, text("[1"), Key::Interrupt];
        assert_eq!(after_esc(&cut), keys);
    }
}
