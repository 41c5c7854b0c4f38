//! The line that a person types into.

use crate::sanitize::shown;
use crate::width::columns;

/// Longest text in bytes; what a paste has beyond it is left out.
const LONGEST: usize = 64 * 1024;

/// Stands for a line end inside the text.
const LINE_END: char = '↵';

/// What a person wants who types into a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneInput {
    /// To say this; several lines where they were pasted.
    Line(String),
    /// To end the present turn.
    Interrupt,
    /// Not to wait for the sub-agents of the present turn.
    Background,
    /// To end the member.
    Shutdown,
    /// To answer a dialog.
    Choice {
        /// The dialog's id.
        dialog: String,
        /// The key of the choice; ESC for none of them.
        key: char,
    },
}

/// The command in a line, as its name and what follows, where the line begins with a slash and a word. A path is none.
pub fn command_in(line: &str) -> Option<(&str, &str)> {
    let words = line.trim().strip_prefix('/')?;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_name && !words.contains('\n')).then_some((name, rest.trim()))
}

/// One key, or what was pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Text(String),
    Enter,
    Backspace,
    Delete,
    Left,
    Right,
    Home,
    End,
    /// The line before this one.
    Up,
    /// The line after this one.
    Down,
    /// A line end inside the text: Alt-Enter.
    LineEnd,
    /// Ctrl-U.
    ClearBefore,
    /// Ctrl-W.
    DeleteWord,
    /// Esc and Ctrl-C.
    Interrupt,
    /// Ctrl-X: the command `/compact`, whatever stands in the line.
    Compact,
    /// Ctrl-B.
    Background,
    /// Ctrl-D.
    EndOfInput,
    /// The terminal has another size.
    Resized,
}

/// A text and a cursor in it.
#[derive(Debug, Default)]
pub(crate) struct InputLine {
    text: String,
    /// In bytes, always between two signs.
    cursor: usize,
    history: History,
}

/// Lines that were said before, to be said again.
#[derive(Debug, Default)]
struct History {
    lines: Vec<String>,
    /// The one that is in the input line.
    at: Option<usize>,
    /// What was in the input line before.
    draft: String,
}

impl History {
    fn add(&mut self, line: &str) {
        self.at = None;
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
    }

    /// The line before, if there is one; `text` is what is in the input line now.
    fn back(&mut self, text: &str) -> Option<String> {
        let before = self.at.unwrap_or(self.lines.len()).checked_sub(1)?;
        if self.at.is_none() {
            text.clone_into(&mut self.draft);
        }
        self.at = Some(before);
        self.lines.get(before).cloned()
    }

    /// The line after, and behind the last one what was being written.
    fn forth(&mut self) -> Option<String> {
        let next = self.at? + 1;
        let line = self.lines.get(next).cloned();
        self.at = line.as_ref().map(|_| next);
        Some(line.unwrap_or_else(|| std::mem::take(&mut self.draft)))
    }
}

/// What of the line is shown: it fits the room, and the cursor is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Columns before the cursor.
    pub(crate) before: usize,
}

impl InputLine {
    /// Takes a key; what the person wants by it, if anything.
    pub(crate) fn key(&mut self, key: Key) -> Option<PaneInput> {
        match key {
            Key::Text(text) => self.insert(&text),
            // As in a shell.
            Key::Enter if self.text[..self.cursor].ends_with('\\') => {
                self.remove(self.cursor - 1, self.cursor);
                self.insert("\n");
            }
            Key::Enter => {
                let text = std::mem::take(&mut self.text);
                self.cursor = 0;
                if text.trim().is_empty() {
                    return None;
                }
                self.history.add(&text);
                return Some(PaneInput::Line(text));
            }
            Key::LineEnd => self.insert("\n"),
            Key::Up => {
                let before = self.history.back(&self.text);
                self.replace(before);
            }
            Key::Down => {
                let after = self.history.forth();
                self.replace(after);
            }
            Key::Backspace => self.remove(self.before(), self.cursor),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::ClearBefore => self.remove(0, self.cursor),
            Key::DeleteWord => self.remove(self.word_start(), self.cursor),
            Key::Interrupt => return Some(PaneInput::Interrupt),
            Key::Background => return Some(PaneInput::Background),
            Key::Compact => return Some(PaneInput::Line("/compact".to_owned())),
            Key::EndOfInput if self.text.is_empty() => return Some(PaneInput::Shutdown),
            Key::Delete | Key::EndOfInput => self.remove(self.cursor, self.after()),
            Key::Resized => {}
        }
        None
    }

    /// Lines that were said before, oldest first.
    pub(crate) fn remember(&mut self, lines: Vec<String>) {
        self.history.lines = lines;
    }

    pub(crate) fn clear(&mut self) {
        self.replace(Some(String::new()));
        self.history.at = None;
    }

    fn replace(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.cursor = text.len();
            self.text = text;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let room = LONGEST.saturating_sub(self.text.len());
        let text = &text[..text.floor_char_boundary(room)];
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    /// Where the sign before the cursor begins.
    fn before(&self) -> usize {
        let run = run_start(&self.text, self.cursor);
        let last = signs(&self.text[run..self.cursor]).last();
        self.cursor - last.map_or(0, str::len)
    }

    /// Where the sign behind the cursor ends.
    fn after(&self) -> usize {
        let next = signs(&self.text[self.cursor..]).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_start(&self) -> usize {
        let text = self.text[..self.cursor].trim_end();
        text.rfind(char::is_whitespace).map_or(0, |at| {
            at + text[at..].chars().next().map_or(0, char::len_utf8)
        })
    }

    /// The part around the cursor that fits into so many columns: what is before the cursor comes first. Only about as
    /// much is looked at as is shown, however long the text is.
    pub(crate) fn shown(&self, room: usize) -> Shown {
        let (start, before) = self.first_shown(room);
        let mut text = String::new();
        let mut taken = 0;
        for sign in signs(&self.text[start..]) {
            let sign = visible(sign);
            taken += columns(&sign);
            if taken > room {
                break;
            }
            text.push_str(&sign);
        }
        Shown { text, before }
    }

    /// Where the signs begin that fit before the cursor, and their columns.
    fn first_shown(&self, room: usize) -> (usize, usize) {
        let (mut start, mut taken) = (self.cursor, 0);
        while start > 0 {
            let run = run_start(&self.text, start);
            let signs: Vec<&str> = signs(&self.text[run..start]).collect();
            for sign in signs.into_iter().rev() {
                let width = columns(&visible(sign));
                if taken + width > room {
                    return (start, taken);
                }
                taken += width;
                start -= sign.len();
            }
        }
        (start, taken)
    }
}

/// A text as it is shown in one line.
fn visible(text: &str) -> String {
    let signs = text.chars().filter_map(|c| match c {
        '\n' => Some(LINE_END),
        '\t' => Some(' '),
        // Part of a sign that is made of several characters.
        JOINER | '\u{fe0f}' => Some(c),
        c => shown(c),
    });
    signs.collect()
}

/// Joins two characters to one sign.
const JOINER: char = '\u{200d}';

/// The signs of a text that begins with one. A sign is a character with those that only change it: accents, variants,
/// skin tones, what is joined to it, the second half of a flag.
fn signs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (sign, after) = rest.split_at(first_sign(rest));
        rest = after;
        (!sign.is_empty()).then_some(sign)
    })
}

/// How long the first sign is, in bytes.
fn first_sign(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, mut last)) = chars.next() else {
        return 0;
    };
    let mut half_a_flag = is_letter_of_flag(last);
    for (at, c) in chars {
        let joined = last == JOINER || changes(c) || (half_a_flag && is_letter_of_flag(c));
        if !joined {
            return at;
        }
        half_a_flag = false;
        last = c;
    }
    text.len()
}

/// The last place before `end` where a sign begins whatever stands before it, or the beginning of the text.
fn run_start(text: &str, end: usize) -> usize {
    let mut chars = text[..end].char_indices().rev().peekable();
    while let Some((at, c)) = chars.next() {
        let joined = chars.peek().is_some_and(|(_, before)| *before == JOINER);
        if !joined && !changes(c) && !is_letter_of_flag(c) {
            return at;
        }
    }
    0
}

/// Whether a character only changes the one before it.
fn changes(c: char) -> bool {
    let is_skin_tone = matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
    is_skin_tone || (!c.is_control() && columns(c.encode_utf8(&mut [0; 4])) == 0)
}

fn is_letter_of_flag(c: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn typed(keys: &[Key]) -> InputLine {
        let mut line = InputLine::default();
        for key in keys {
            assert_eq!(line.key(key.clone()), None, "{key:?}");
        }
        line
    }

    fn text(text: &str) -> Key {
        Key::Text(text.to_owned())
    }

    #[test]
    fn a_line_is_edited_and_said() {
        let mut line = typed(&[text("helo wrld"), Key::Home]);
        for key in [Key::Right, Key::Right, Key::Right, text("l"), Key::End] {
            line.key(key);
        }
        line.key(Key::DeleteWord);
        line.key(text("you"));
        assert_eq!(
            line.key(Key::Enter),
            Some(PaneInput::Line("hello you".to_owned()))
        );
        assert_eq!(line.key(Key::Enter), None, "nothing is said twice");
        let mut line = typed(&[text("abc"), Key::Left, Key::ClearBefore, Key::Delete]);
        assert_eq!(line.key(Key::EndOfInput), Some(PaneInput::Shutdown));
        let mut line = typed(&[text("ab"), Key::Home, Key::EndOfInput, Key::Backspace]);
        assert_eq!(line.key(Key::Interrupt), Some(PaneInput::Interrupt));
        assert_eq!(line.key(Key::Background), Some(PaneInput::Background));
        let compact = PaneInput::Line("/compact".to_owned());
        assert_eq!(line.key(Key::Compact), Some(compact));
        assert_eq!(line.key(Key::Enter), Some(PaneInput::Line("b".to_owned())));
    }

    #[test]
    fn a_slash_and_a_word_are_a_command_and_a_path_is_not() {
        for (line, command) in [
            ("/status", Some(("status", ""))),
            ("  /task list --json ", Some(("task", "list --json"))),
            ("/", Some(("", ""))),
            ("/usr/bin/env is missing", None),
            ("what is /status?", None),
            ("/send bob a\nb", None),
        ] {
            assert_eq!(command_in(line), command, "{line}");
        }
    }

    #[test]
    fn earlier_lines_come_back_and_what_was_being_written_is_kept() {
        let mut line = InputLine::default();
        line.remember(vec!["one".to_owned(), "two".to_owned()]);
        line.key(text("thr"));
        let mut seen = Vec::new();
        for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
            line.key(key);
            seen.push(line.text.clone());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "thr", "thr"]);
        line.key(text("ee"));
        line.key(Key::Enter);
        line.key(Key::Up);
        assert_eq!(line.text, "three");
    }

    #[test]
    fn a_backslash_or_alt_makes_enter_a_line_end() {
        let mut line = typed(&[text("a\\"), Key::Enter, text("b"), Key::LineEnd, text("c")]);
        let said = PaneInput::Line("a\nb\nc".to_owned());
        assert_eq!(line.key(Key::Enter), Some(said));
    }

    #[test]
    fn a_paste_of_several_lines_is_one_message() {
        let mut line = typed(&[text("a\r\nb\rc\n")]);
        assert_eq!(line.shown(20).text, "a↵b↵c↵");
        let said = PaneInput::Line("a\nb\nc\n".to_owned());
        assert_eq!(line.key(Key::Enter), Some(said));
    }

    #[test]
    fn wide_and_joined_signs_are_removed_whole() {
        for sign in ["日", "👩‍💻", "👍🏽", "e\u{301}", "🇨🇭", "❤\u{fe0f}"] {
            let mut line = typed(&[text("a"), text(sign), Key::Left, Key::Right, Key::Backspace]);
            assert_eq!(
                line.key(Key::Enter),
                Some(PaneInput::Line("a".to_owned())),
                "{sign}"
            );
        }
    }

    #[test]
    fn a_long_line_is_shown_around_its_cursor() {
        let mut line = typed(&[text("abcdefgh")]);
        assert_eq!(
            line.shown(4),
            Shown {
                text: "efgh".to_owned(),
                before: 4
            }
        );
        line.key(Key::Home);
        assert_eq!(
            line.shown(4),
            Shown {
                text: "abcd".to_owned(),
                before: 0
            }
        );
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_is_shown() {
        let line = typed(&[text("\u{1b}[2Ja\u{7}")]);
        assert_eq!(line.shown(20).text, "␛[2Ja␇");
    }

    #[test]
    fn a_huge_paste_is_shown_as_fast_as_a_word() {
        for sign in ["a", "日", "e\u{301}", "👩‍💻", "\n"] {
            let mut line = typed(&[text(&sign.repeat(LONGEST / sign.len()))]);
            // Looking through all of it each time would take minutes, and such a test is ended.
            for _ in 0..50 {
                line.key(Key::Left);
                assert!(columns(&line.shown(80).text) <= 80);
            }
        }
    }

    proptest! {
        #[test]
        fn signs_are_the_same_wherever_one_begins_to_look(
            text in "(\\PC|a|\u{301}|\u{200d}|🇨|🇭|👩|🏽|日){0,20}",
        ) {
            let mut at = 0;
            for sign in signs(&text) {
                at += sign.len();
                let run = run_start(&text, at);
                prop_assert_eq!(signs(&text[run..at]).last(), Some(sign));
            }
            prop_assert_eq!(at, text.len());
        }

        #[test]
        fn whatever_is_typed_fits_and_the_cursor_stays_between_signs(
            keys in prop::collection::vec(prop_oneof![
                "\\PC{0,6}|日本|👩‍💻|\n".prop_map(Key::Text), Just(Key::Backspace), Just(Key::Delete), Just(Key::Left),
                Just(Key::Right), Just(Key::Home), Just(Key::End), Just(Key::ClearBefore), Just(Key::DeleteWord),
            ], 0..30),
            room in 1_usize..30,
        ) {
            let mut line = InputLine::default();
            for key in keys {
                line.key(key);
                prop_assert!(line.text.is_char_boundary(line.cursor));
                let shown = line.shown(room);
                prop_assert!(columns(&shown.text) <= room && shown.before <= room, "{:?}", shown);
            }
        }
    }
}
