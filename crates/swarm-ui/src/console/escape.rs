//! Keys whose escape sequences arrive in pieces, as on slow connections.
//!
//! crossterm waits for the rest of a sequence, except after its first byte: an Esc at the end of
//! the available input is the key Esc, and what follows is text. Time decides what was typed, as
//! with vim's `ttimeoutlen`. The keyboard protocol of kitty, in which the key Esc has a sequence
//! too, would not help: crossterm reports that sequence and a single Esc in the same way.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::input::Key;
use super::keys::key_of;

/// Default of the longest pause in the sequence of a key.
pub(super) const ESCAPE_TIME: Duration = Duration::from_millis(100);

/// Longest pause after Esc and `O`, which a person types too, with vim keys. In the modes that swarm
/// sets, only F1 to F4 begin with it.
const AFTER_O: Duration = Duration::from_millis(50);

/// Returns the keys of an event. `next` returns the event that follows within a time, which is
/// `time` for most pieces of a sequence.
pub(super) fn keys_of(
    event: Event,
    time: Duration,
    mut next: impl FnMut(Duration) -> Option<Event>,
) -> Vec<Key> {
    if event != Event::Key(KeyCode::Esc.into()) {
        return key_of(event).into_iter().collect();
    }
    let mut keys = vec![Key::Interrupt];
    let Some(after) = next(time) else {
        return keys;
    };
    let Some(intro @ ('[' | 'O')) = char_of(&after) else {
        keys.extend(keys_of(after, time, next));
        return keys;
    };
    let pause = if intro == 'O' { AFTER_O } else { time };
    let mut parameters = String::new();
    let after = loop {
        let event = next(pause);
        match event.as_ref().and_then(char_of) {
            Some(c @ ('0'..='9' | ';')) => parameters.push(c),
            Some(c) => match sequence(intro, &parameters, c) {
                Sequence::Paste => return vec![Key::Pasted(pasted(time, next))],
                Sequence::Key(key) => return key.into_iter().collect(),
                Sequence::Text => break event,
            },
            None => break event,
        }
    };
    let typed = std::iter::once(intro).chain(parameters.chars());
    keys.extend(typed.map(|c| Key::Text(c.to_string())));
    if let Some(after) = after {
        keys.extend(keys_of(after, time, next));
    }
    keys
}

/// Returns the text of a paste whose beginning was split: what follows without a pause.
fn pasted(time: Duration, mut next: impl FnMut(Duration) -> Option<Event>) -> String {
    let texts = std::iter::from_fn(|| next(time)).filter_map(|event| match event {
        Event::Paste(text) => Some(text),
        event => match key_of(event)? {
            Key::Text(text) => Some(text),
            Key::Enter => Some("\n".to_owned()),
            Key::Complete => Some("\t".to_owned()),
            _ => None,
        },
    });
    texts.collect()
}

/// What follows an Esc.
enum Sequence {
    /// A key, if it has a meaning.
    Key(Option<Key>),
    /// The beginning of a paste.
    Paste,
    /// No sequence that a terminal sends for a key: a person typed it.
    Text,
}

/// Returns the meaning of a sequence: what follows the Esc, the parameters, and the last character.
fn sequence(intro: char, parameters: &str, last: char) -> Sequence {
    let number = parameters.split(';').next().unwrap_or_default();
    let key = match (intro, number, last) {
        ('[', "200", '~') => return Sequence::Paste,
        (_, _, 'A') => Key::Up,
        (_, _, 'B') => Key::Down,
        (_, _, 'C') => Key::Right,
        (_, _, 'D') => Key::Left,
        (_, _, 'H') | ('[', "1" | "7", '~') => Key::Home,
        (_, _, 'F') | ('[', "4" | "8", '~') => Key::End,
        ('[', _, 'Z') => Key::CycleMode,
        ('[', "3", '~') => Key::Delete,
        ('[', "5", '~') => Key::PageUp,
        ('[', "6", '~') => Key::PageDown,
        ('[', "", _) => return Sequence::Text,
        // Function keys, Insert, and the end of a paste.
        ('[', _, 'P'..='S' | '~') | ('O', "", 'P'..='S') => return Sequence::Key(None),
        _ => return Sequence::Text,
    };
    Sequence::Key(Some(key))
}

fn char_of(event: &Event) -> Option<char> {
    match event {
        Event::Key(KeyEvent {
            code: KeyCode::Char(c),
            modifiers: KeyModifiers::NONE | KeyModifiers::SHIFT,
            ..
        }) => Some(*c),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of events of which the first is Esc. `None` is a pause.
    fn after_esc(events: &[Option<Event>]) -> Vec<Key> {
        let mut events = events.iter().cloned();
        let mut keys = Vec::new();
        let mut event = Some(Event::Key(KeyCode::Esc.into()));
        loop {
            if let Some(event) = event {
                keys.extend(keys_of(event, ESCAPE_TIME, |_| events.next().flatten()));
            }
            match events.next() {
                Some(next) => event = next,
                None => return keys,
            }
        }
    }

    fn typed(text: &str) -> Vec<Option<Event>> {
        let event = |c| match c {
            '\n' => Event::Key(KeyCode::Enter.into()),
            c => Event::Key(KeyCode::Char(c).into()),
        };
        text.chars().map(|c| Some(event(c))).collect()
    }

    fn texts(text: &str) -> Vec<Key> {
        text.chars().map(|c| Key::Text(c.to_string())).collect()
    }

    #[test]
    fn a_sequence_in_pieces_is_one_key() {
        for (rest, key) in [
            ("[A", Key::Up),
            ("OD", Key::Left),
            ("[1;5C", Key::Right),
            ("[3~", Key::Delete),
            ("[Z", Key::CycleMode),
            ("[200~a\nb", Key::Pasted("a\nb".to_owned())),
            ("[200~y", Key::Pasted("y".to_owned())),
        ] {
            assert_eq!(after_esc(&typed(rest)), [key], "{rest}");
        }
        for rest in ["[20~", "OP", "[1;2P"] {
            assert_eq!(after_esc(&typed(rest)), [], "a key without a meaning");
        }
    }

    #[test]
    fn esc_before_a_pause_or_another_key_interrupts() {
        assert_eq!(after_esc(&[]), [Key::Interrupt]);
        let esc = Some(Event::Key(KeyCode::Esc.into()));
        let both = [Key::Interrupt, Key::Interrupt];
        assert_eq!(after_esc(std::slice::from_ref(&esc)), both);
        let cut = [typed("[1"), vec![esc]].concat();
        let keys = [vec![Key::Interrupt], texts("[1"), vec![Key::Interrupt]].concat();
        assert_eq!(after_esc(&cut), keys);
        let control = KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL);
        for typed_before in ["", "[", "O"] {
            let events = [typed(typed_before), vec![Some(Event::Key(control))]].concat();
            let keys = after_esc(&events);
            assert_eq!(keys.last(), Some(&Key::ClearBefore), "{keys:?}");
        }
    }

    #[test]
    fn no_typed_byte_after_esc_is_lost() {
        for text in [
            "x", "[", "O", "[x", "[1x", "Open", "[]", "[12", "O2", "[;q", "[é", "[P", "O~",
        ] {
            let keys = [vec![Key::Interrupt], texts(text)].concat();
            assert_eq!(after_esc(&typed(text)), keys, "{text}");
        }
        // After a pause, it is text in any case.
        let [intro, last] = ["[", "A"].map(typed);
        let keys = [vec![Key::Interrupt], texts("[A")].concat();
        assert_eq!(after_esc(&[intro, vec![None], last].concat()), keys);
    }
}
