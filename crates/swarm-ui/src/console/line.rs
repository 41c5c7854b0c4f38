//! The input line.

use super::editor_mode::{EditorMode, Vim};
use super::graphemes::{ZERO_WIDTH_JOINER, graphemes, run_start};
use super::input::{Key, PaneInput};
use super::line_history::LineHistory;
use crate::sanitize::shown;
use crate::width::columns;

/// Maximum length of the text in bytes; excess text of a paste is dropped with a notice.
pub(super) const MAX_LENGTH: usize = 1024 * 1024;

/// Approximate number of bytes before and after the cursor that are laid out: more than all rows
/// can show.
const LAID_OUT: usize = 4096;

/// A text with a cursor.
#[derive(Debug, Default)]
pub(crate) struct InputLine {
    pub(super) text: String,
    /// Byte offset, always at a grapheme boundary.
    pub(super) cursor: usize,
    history: LineHistory,
    /// Number of pasted bytes dropped since the last query.
    left_out: usize,
    /// The current history search.
    search: Option<Search>,
    /// Completions of the word before the cursor, and the selected one.
    completing: Option<Completing>,
    /// State of the vim keys, if they are used.
    pub(super) vim: Option<Vim>,
}

#[derive(Debug, Default)]
struct Search {
    wanted: String,
    /// Index of the line that was found.
    at: Option<usize>,
    /// The input line before the search.
    draft: String,
}

/// Completions of a word.
#[derive(Debug)]
struct Completing {
    start: usize,
    words: Vec<String>,
    at: usize,
}

/// The displayed part of the text: rows that fit the available width, including the cursor row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) rows: Vec<String>,
    pub(crate) row: usize,
    /// Number of columns before the cursor in its row.
    pub(crate) before: usize,
}

impl InputLine {
    /// Handles a key and returns the resulting input, if any.
    pub(crate) fn key(&mut self, key: Key) -> Option<PaneInput> {
        if !matches!(key, Key::Complete | Key::Resized) {
            self.completing = None;
        }
        if self.search.is_some() {
            return self.search_key(key);
        }
        match self.vim_key(key)? {
            Key::Search => {
                self.search = Some(Search {
                    draft: self.text.clone(),
                    ..Search::default()
                });
            }
            Key::Editor => return Some(PaneInput::Edit(self.text.clone())),
            Key::Complete => self.next_completion(),
            Key::Text(text) | Key::Pasted(text) => self.insert(&text),
            // As in a shell.
            Key::Enter if self.text[..self.cursor].ends_with('\\') => {
                self.remove(self.cursor - 1, self.cursor);
                self.insert("\n");
            }
            Key::Enter => return self.finish().map(PaneInput::Line),
            Key::SendNow => return Some(PaneInput::SendNow(self.finish().unwrap_or_default())),
            Key::LineEnd => self.insert("\n"),
            Key::Up => {
                let before = self.history.previous(&self.text);
                self.replace(before);
            }
            Key::Down => {
                let after = self.history.next(&self.text);
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
            Key::CycleMode => return Some(PaneInput::CycleMode),
            Key::PasteImage => return Some(PaneInput::PasteImage),
            Key::Expand => return Some(PaneInput::Expand),
            Key::EndOfInput if self.text.is_empty() => return Some(PaneInput::Shutdown),
            Key::Delete | Key::EndOfInput => self.remove(self.cursor, self.after()),
            // Keys of views and of the panel.
            Key::PageUp | Key::PageDown | Key::Team | Key::Resized => {}
        }
        None
    }

    /// Empties the line. Returns its text unless it is blank.
    pub(super) fn finish(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        self.cursor = 0;
        self.change_vim(Vim::begin);
        if text.trim().is_empty() {
            return None;
        }
        self.history.add(&text);
        Some(text)
    }

    /// Handles a key during a search: text narrows the search, Ctrl-R finds an earlier line, Esc
    /// cancels, and any other key ends the search and is applied to the line that was found.
    fn search_key(&mut self, key: Key) -> Option<PaneInput> {
        let mut search = self.search.take()?;
        match key {
            Key::Text(text) | Key::Pasted(text) => {
                search.wanted.push_str(&text);
                self.find(&mut search, self.history.lines.len());
            }
            Key::Backspace => {
                search.wanted.pop();
                self.find(&mut search, self.history.lines.len());
            }
            Key::Search => {
                let before = search.at.unwrap_or(self.history.lines.len());
                self.find(&mut search, before);
            }
            Key::Resized => {}
            Key::Interrupt => {
                self.replace(Some(search.draft));
                return None;
            }
            key => return self.key(key),
        }
        self.search = Some(search);
        None
    }

    /// Puts the last matching line before `end` into the input line.
    fn find(&mut self, search: &mut Search, end: usize) {
        let lines = self.history.lines.iter().take(end).enumerate();
        let found = lines
            .rev()
            .find(|(_, line)| !search.wanted.is_empty() && line.contains(&search.wanted));
        if let Some((at, line)) = found {
            search.at = Some(at);
            let line = line.clone();
            self.replace(Some(line));
        }
    }

    /// Returns the search text during a search.
    pub(crate) fn searched(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.wanted.as_str())
    }

    /// Returns the text before the cursor if its completions must be looked up.
    pub(crate) fn to_complete(&self) -> Option<&str> {
        self.completing.is_none().then(|| &self.text[..self.cursor])
    }

    /// Sets the completions of the text from `start` to the cursor.
    pub(crate) fn offer(&mut self, start: usize, words: Vec<String>) {
        if words.is_empty() || start > self.cursor || !self.text.is_char_boundary(start) {
            return;
        }
        self.completing = Some(Completing {
            start,
            at: words.len() - 1,
            words,
        });
    }

    fn next_completion(&mut self) {
        let Some(mut completing) = self.completing.take() else {
            return;
        };
        completing.at = (completing.at + 1) % completing.words.len();
        let word = completing.words[completing.at].clone();
        self.text
            .replace_range(completing.start..self.cursor, &word);
        self.cursor = completing.start + word.len();
        self.completing = (completing.words.len() > 1).then_some(completing);
    }

    pub(crate) fn completions(&self) -> Option<(&[String], usize)> {
        let completing = self.completing.as_ref()?;
        Some((&completing.words, completing.at))
    }

    /// Returns the number of dropped bytes and resets it.
    pub(crate) fn take_left_out(&mut self) -> usize {
        std::mem::take(&mut self.left_out)
    }

    /// Returns all text that Up, Down or the line itself can show.
    #[cfg(test)]
    pub(crate) fn everything(&self) -> String {
        format!(
            "{}{}{}",
            self.text,
            self.history.draft,
            self.history.lines.concat()
        )
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the text of the line.
    pub(crate) fn set_text(&mut self, text: &str) {
        self.replace(Some(String::new()));
        self.insert(text);
        self.begin_undo();
    }

    /// Adds lines to the history, oldest first.
    pub(crate) fn remember(&mut self, lines: Vec<String>) {
        self.history.lines = lines;
    }

    /// Selects the keys of the line.
    pub(crate) fn set_editor_mode(&mut self, mode: EditorMode) {
        self.vim = (mode == EditorMode::Vim).then(Vim::default);
        self.begin_undo();
    }

    /// Returns whether keys are vim commands.
    pub(crate) fn is_in_normal_mode(&self) -> bool {
        self.vim.as_ref().is_some_and(Vim::is_normal)
    }

    pub(crate) fn clear(&mut self) {
        self.change_vim(Vim::begin);
        self.replace(Some(String::new()));
        self.history.at = None;
    }

    fn replace(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.cursor = text.len();
            self.text = text;
            self.begin_undo();
        }
    }

    /// Returns whether nothing is typed or searched.
    pub(super) fn is_idle(&self) -> bool {
        self.is_empty() && self.search.is_none()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let room = MAX_LENGTH.saturating_sub(self.text.len());
        let whole = text.len();
        let text = &text[..text.floor_char_boundary(room)];
        self.left_out += whole - text.len();
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    pub(super) fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    /// Returns the start of the grapheme before the cursor.
    pub(super) fn before(&self) -> usize {
        let run = run_start(&self.text, self.cursor);
        let last = graphemes(&self.text[run..self.cursor]).last();
        self.cursor - last.map_or(0, str::len)
    }

    /// Returns the end of the grapheme after the cursor.
    pub(super) fn after(&self) -> usize {
        let next = graphemes(&self.text[self.cursor..]).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_start(&self) -> usize {
        let text = self.text[..self.cursor].trim_end();
        text.rfind(char::is_whitespace).map_or(0, |at| {
            at + text[at..].chars().next().map_or(0, char::len_utf8)
        })
    }

    /// Returns the rows around the cursor, at most `most`, each of at most `room` columns. The cost
    /// is proportional to the displayed part, not to the length of the text.
    pub(crate) fn shown(&self, room: usize, most: usize) -> Shown {
        // A position that does not change with small cursor movements, so that line breaks are
        // stable.
        let block = (self.cursor / LAID_OUT).saturating_sub(1) * LAID_OUT;
        let start = run_start(&self.text, self.text.floor_char_boundary(block));
        let end = self.text.floor_char_boundary(self.cursor + LAID_OUT);
        let mut rows = vec![String::new()];
        let (mut taken, mut at) = (0, start);
        let mut cursor = (0, 0);
        for sign in graphemes(&self.text[start..end]) {
            let text = visible(sign);
            let width = columns(&text);
            if taken + width > room && taken > 0 {
                rows.push(String::new());
                taken = 0;
            }
            if at == self.cursor {
                cursor = (rows.len() - 1, taken);
            }
            at += sign.len();
            if sign == "\n" {
                rows.push(String::new());
                taken = 0;
            } else if width <= room
                && let Some(row) = rows.last_mut()
            {
                row.push_str(&text);
                taken += width;
            }
        }
        if at == self.cursor {
            cursor = (rows.len() - 1, taken);
        }
        let most = most.max(1);
        // The row after the cursor's is shown as well, if there is one.
        let last = (cursor.0 + 2).max(most).min(rows.len());
        let first = last.saturating_sub(most).min(cursor.0);
        Shown {
            rows: rows[first..last.min(first + most)].to_vec(),
            row: cursor.0 - first,
            before: cursor.1,
        }
    }
}

/// Returns a text as displayed.
fn visible(text: &str) -> String {
    let signs = text.chars().filter_map(|c| match c {
        // A row ends here.
        '\n' => None,
        '\t' => Some(' '),
        // Part of a grapheme of several characters.
        ZERO_WIDTH_JOINER | '\u{fe0f}' => Some(c),
        c => shown(c),
    });
    signs.collect()
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
    fn a_line_is_edited_and_submitted() {
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
        assert_eq!(line.key(Key::Enter), None, "nothing is submitted twice");
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
    fn history_navigation_keeps_the_draft() {
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
    fn enter_after_a_backslash_or_with_alt_inserts_a_line_break() {
        let mut line = typed(&[text("a\\"), Key::Enter, text("b"), Key::LineEnd, text("c")]);
        let said = PaneInput::Line("a\nb\nc".to_owned());
        assert_eq!(line.key(Key::Enter), Some(said));
    }

    #[test]
    fn a_paste_of_several_lines_is_one_message() {
        let mut line = typed(&[text("a\r\nb\rc\n")]);
        let shown = line.shown(20, 8);
        assert_eq!(shown.rows, ["a", "b", "c", ""]);
        assert_eq!((shown.row, shown.before), (3, 0));
        let said = PaneInput::Line("a\nb\nc\n".to_owned());
        assert_eq!(line.key(Key::Enter), Some(said));
    }

    #[test]
    fn wide_and_joined_graphemes_are_removed_whole() {
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
    fn a_long_text_is_shown_in_rows_around_its_cursor() {
        let mut line = typed(&[text("abcdefgh\ni")]);
        let shown = |line: &InputLine, most| {
            let shown = line.shown(4, most);
            (shown.rows.join("/"), shown.row, shown.before)
        };
        assert_eq!(shown(&line, 8), ("abcd/efgh/i".to_owned(), 2, 1));
        assert_eq!(shown(&line, 2), ("efgh/i".to_owned(), 1, 1));
        line.key(Key::Home);
        assert_eq!(shown(&line, 2), ("abcd/efgh".to_owned(), 0, 0));
        assert_eq!(shown(&line, 1), ("abcd".to_owned(), 0, 0));
    }

    #[test]
    fn control_characters_are_not_displayed() {
        let line = typed(&[text("\u{1b}[2Ja\u{7}")]);
        assert_eq!(line.shown(20, 8).rows, ["␛[2Ja␇"]);
    }

    #[test]
    fn a_huge_paste_is_displayed_quickly_and_dropped_bytes_are_counted() {
        for sign in ["a", "日", "e\u{301}", "👩‍💻", "\n"] {
            let mut line = typed(&[text(&sign.repeat(MAX_LENGTH / sign.len()))]);
            // Processing the whole text each time would take minutes and exceed the test timeout.
            for _ in 0..50 {
                line.key(Key::Left);
                let shown = line.shown(80, 8);
                assert!(shown.rows.len() <= 8 && shown.rows.iter().all(|row| columns(row) <= 80));
            }
        }
        let mut line = typed(&[text(&"a".repeat(MAX_LENGTH + 3))]);
        assert_eq!((line.take_left_out(), line.take_left_out()), (3, 0));
    }

    #[test]
    fn a_search_can_be_cancelled_and_restores_the_draft() {
        let mut line = InputLine::default();
        line.remember(["fix a", "run tests", "fix b"].map(str::to_owned).to_vec());
        let mut seen = Vec::new();
        for key in [
            text("draft"),
            Key::Search,
            text("fi"),
            text("x"),
            Key::Search,
            Key::Search,
        ] {
            line.key(key);
            seen.push(line.text.clone());
        }
        assert_eq!(seen, ["draft", "draft", "fix b", "fix b", "fix a", "fix a"]);
        assert_eq!(line.searched(), Some("fix"));
        line.key(Key::Interrupt);
        assert_eq!((line.text(), line.searched()), ("draft", None));
        for key in [Key::Search, text("run")] {
            line.key(key);
        }
        let said = PaneInput::Line("run tests".to_owned());
        assert_eq!(line.key(Key::Enter), Some(said));
    }

    #[test]
    fn tab_cycles_through_the_completions_of_a_word() {
        let mut line = typed(&[text("see @s")]);
        assert_eq!(line.to_complete(), Some("see @s"));
        line.offer(4, ["@src/", "@setup.py"].map(str::to_owned).to_vec());
        let mut seen = Vec::new();
        for _ in 0..3 {
            line.key(Key::Complete);
            seen.push(line.text.clone());
        }
        assert_eq!(seen, ["see @src/", "see @setup.py", "see @src/"]);
        line.key(text("x"));
        assert_eq!(line.to_complete(), Some("see @src/x"));
        assert_eq!(line.completions(), None);
    }

    proptest! {
        #[test]
        fn graphemes_do_not_depend_on_the_starting_point(
            text in "(\\PC|a|\u{301}|\u{200d}|🇨|🇭|👩|🏽|日){0,20}",
        ) {
            let mut at = 0;
            for sign in graphemes(&text) {
                at += sign.len();
                let run = run_start(&text, at);
                prop_assert_eq!(graphemes(&text[run..at]).last(), Some(sign));
            }
            prop_assert_eq!(at, text.len());
        }

        #[test]
        fn any_input_fits_and_the_cursor_stays_at_grapheme_boundaries(
            keys in prop::collection::vec(prop_oneof![
                "\\PC{0,6}|日本|👩‍💻|\n".prop_map(Key::Text), Just(Key::Backspace), Just(Key::Delete), Just(Key::Left),
                Just(Key::Right), Just(Key::Home), Just(Key::End), Just(Key::ClearBefore), Just(Key::DeleteWord),
                Just(Key::Search), Just(Key::Complete), Just(Key::Up), Just(Key::Down),
            ], 0..30),
            room in 2_usize..30,
            most in 1_usize..6,
        ) {
            let mut line = InputLine::default();
            for key in keys {
                line.key(key);
                prop_assert!(line.text.is_char_boundary(line.cursor));
                let shown = line.shown(room, most);
                let fits = shown.rows.iter().all(|row| columns(row) <= room);
                prop_assert!(fits && shown.rows.len() <= most, "{:?}", shown);
                prop_assert!(shown.row < shown.rows.len() && shown.before <= room, "{:?}", shown);
            }
        }
    }
}
