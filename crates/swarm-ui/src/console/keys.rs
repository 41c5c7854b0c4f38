//! Keys of a terminal's events.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::input::Key;

/// Returns the key of an event, if it has a meaning.
pub(super) fn key_of(event: Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
        Event::Paste(text) => Some(Key::Pasted(text)),
        Event::Resize(..) => Some(Key::Resized),
        _ => None,
    }
}

fn of_key(key: KeyEvent) -> Option<Key> {
    let modifiers = key.modifiers - KeyModifiers::SHIFT;
    match (key.code, modifiers) {
        (KeyCode::Char(c), KeyModifiers::NONE) => Some(Key::Text(c.to_string())),
        (KeyCode::Char(c), KeyModifiers::CONTROL) => of_control(c),
        (KeyCode::Enter, KeyModifiers::NONE) => Some(Key::Enter),
        (KeyCode::Enter, KeyModifiers::CONTROL) => Some(Key::SendNow),
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

/// Returns the key that was pressed together with Alt, if it is a character.
pub(super) fn key_with_alt(event: &Event) -> Option<Key> {
    match event {
        Event::Key(KeyEvent {
            code: KeyCode::Char(c),
            modifiers,
            ..
        }) if *modifiers - KeyModifiers::SHIFT == KeyModifiers::ALT => {
            Some(Key::Text(c.to_string()))
        }
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
        's' => Some(Key::SendNow),
        't' => Some(Key::Team),
        'u' => Some(Key::ClearBefore),
        'v' => Some(Key::PasteImage),
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
            ('s', Key::SendNow),
            ('v', Key::PasteImage),
            ('x', Key::Compact),
        ] {
            let event = KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL);
            assert_eq!(key_of(Event::Key(event)), Some(key), "Ctrl-{char}");
        }
    }

    #[test]
    fn a_pasted_character_is_not_a_typed_one() {
        let pasted = Key::Pasted("y".to_owned());
        assert_eq!(key_of(Event::Paste("y".to_owned())), Some(pasted));
        let typed = Key::Text("y".to_owned());
        assert_eq!(key_of(Event::Key(KeyCode::Char('y').into())), Some(typed));
    }

    #[test]
    fn a_character_with_alt_is_recognized() {
        let with = |modifiers| Event::Key(KeyEvent::new(KeyCode::Char('x'), modifiers));
        let x = Some(Key::Text("x".to_owned()));
        assert_eq!(key_with_alt(&with(KeyModifiers::ALT)), x);
        for other in [
            KeyModifiers::NONE,
            KeyModifiers::CONTROL | KeyModifiers::ALT,
        ] {
            assert_eq!(key_with_alt(&with(other)), None, "{other:?}");
        }
    }
}
