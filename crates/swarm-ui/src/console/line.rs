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
#[path = "line_tests.rs"]
mod tests;
