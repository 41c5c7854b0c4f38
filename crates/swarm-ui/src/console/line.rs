//! The line that a person types into.

use swarm_protocol::PermissionMode;

use crate::sanitize::shown;
use crate::width::columns;

/// Longest text in bytes; what a paste has beyond it is left out, and the person is told so.
pub(super) const LONGEST: usize = 1024 * 1024;

/// Bytes before and behind the cursor that are laid out, about: more than all rows show.
const LAID_OUT: usize = 4096;

/// What a person wants who types into a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneInput {
    /// To say this; several lines where they were pasted.
    Line(String),
    /// To end the present turn.
    Interrupt,
    /// Not to wait for the sub-agents of the present turn.
    Background,
    /// To see the last result that was folded in full.
    Expand,
    /// That the agent knows this when it is next asked something.
    Context(String),
    /// To go on writing this text in an editor.
    Edit(String),
    /// To go on in the next permission mode.
    CycleMode,
    /// To go on in a permission mode; without one, in the next.
    Mode {
        /// Which.
        mode: Option<PermissionMode>,
        /// Whether it may be above the mode with which the session began. Only where nobody but a person can type.
        may_raise: bool,
    },
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
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c));
    (is_name && !name.ends_with(':') && !words.contains('\n')).then_some((name, rest.trim()))
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
    /// Ctrl-R.
    Search,
    /// Ctrl-G.
    Editor,
    /// Tab.
    Complete,
    /// Ctrl-O.
    Expand,
    /// Shift-Tab.
    CycleMode,
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
    /// Bytes that were pasted and did not fit, since this was last asked.
    left_out: usize,
    /// A search in the history.
    search: Option<Search>,
    /// Completions of the word before the cursor, and which of them is in the line.
    completing: Option<Completing>,
}

/// A search in lines that were said before.
#[derive(Debug, Default)]
struct Search {
    wanted: String,
    /// The line that was found.
    at: Option<usize>,
    /// What was in the input line before.
    draft: String,
}

/// Words that may stand in the place of one that was begun.
#[derive(Debug)]
struct Completing {
    /// Where the word begins.
    start: usize,
    words: Vec<String>,
    at: usize,
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
        let draft = std::mem::take(&mut self.draft);
        if self.at.take().is_some() && !draft.trim().is_empty() {
            self.lines.push(draft);
        }
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
    }

    /// An earlier line that was changed is what is being written now; what was being written before becomes an earlier line.
    fn notice_change(&mut self, text: &str) {
        let line = self.at.and_then(|at| self.lines.get(at));
        if line.is_some_and(|line| line != text) {
            let draft = std::mem::take(&mut self.draft);
            if !draft.trim().is_empty() {
                self.lines.push(draft);
            }
            self.at = None;
        }
    }

    /// The line before, if there is one; `text` is what is in the input line now.
    fn back(&mut self, text: &str) -> Option<String> {
        self.notice_change(text);
        let before = self.at.unwrap_or(self.lines.len()).checked_sub(1)?;
        if self.at.is_none() {
            text.clone_into(&mut self.draft);
        }
        self.at = Some(before);
        self.lines.get(before).cloned()
    }

    /// The line after, and behind the last one what was being written.
    fn forth(&mut self, text: &str) -> Option<String> {
        self.notice_change(text);
        let next = self.at? + 1;
        let line = self.lines.get(next).cloned();
        self.at = line.as_ref().map(|_| next);
        Some(line.unwrap_or_else(|| std::mem::take(&mut self.draft)))
    }
}

/// What of the text is shown: rows that fit the room, with the cursor in one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) rows: Vec<String>,
    /// The row of the cursor.
    pub(crate) row: usize,
    /// Columns before the cursor in its row.
    pub(crate) before: usize,
}

impl InputLine {
    /// Takes a key; what the person wants by it, if anything.
    pub(crate) fn key(&mut self, key: Key) -> Option<PaneInput> {
        if !matches!(key, Key::Complete | Key::Resized) {
            self.completing = None;
        }
        if self.search.is_some() {
            return self.search_key(key);
        }
        match key {
            Key::Search => {
                self.search = Some(Search {
                    draft: self.text.clone(),
                    ..Search::default()
                });
            }
            Key::Editor => return Some(PaneInput::Edit(self.text.clone())),
            Key::Complete => self.next_completion(),
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
                let after = self.history.forth(&self.text);
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
            Key::Expand => return Some(PaneInput::Expand),
            Key::EndOfInput if self.text.is_empty() => return Some(PaneInput::Shutdown),
            Key::Delete | Key::EndOfInput => self.remove(self.cursor, self.after()),
            Key::Resized => {}
        }
        None
    }

    /// A key while a line is searched for: text narrows the search, Ctrl-R goes to an earlier line, Esc ends it without a
    /// change, and every other key ends it and is then carried out on the line that was found.
    fn search_key(&mut self, key: Key) -> Option<PaneInput> {
        let mut search = self.search.take()?;
        match key {
            Key::Text(text) => {
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

    /// Puts the last line before `end` into the input line that has what is searched for.
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

    /// What is searched for, while something is.
    pub(crate) fn searched(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.wanted.as_str())
    }

    /// The text before the cursor, for which completions are looked up unless they are known.
    pub(crate) fn to_complete(&self) -> Option<&str> {
        self.completing.is_none().then(|| &self.text[..self.cursor])
    }

    /// Takes completions: words that may stand in the place of the text from `start` to the cursor.
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

    /// Puts the next completion into the line.
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

    /// The completions that Tab leads through, and which of them is in the line.
    pub(crate) fn completions(&self) -> Option<(&[String], usize)> {
        let completing = self.completing.as_ref()?;
        Some((&completing.words, completing.at))
    }

    /// Bytes of pastes that did not fit since this was asked last.
    pub(crate) fn take_left_out(&mut self) -> usize {
        std::mem::take(&mut self.left_out)
    }

    /// Everything that Up, Down or the line itself shows.
    #[cfg(test)]
    pub(crate) fn everything(&self) -> String {
        format!(
            "{}{}{}",
            self.text,
            self.history.draft,
            self.history.lines.concat()
        )
    }

    /// What is in the line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Puts a text into the line, in the place of the one that is there.
    pub(crate) fn set_text(&mut self, text: &str) {
        self.replace(Some(String::new()));
        self.insert(text);
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
        let whole = text.len();
        let text = &text[..text.floor_char_boundary(room)];
        self.left_out += whole - text.len();
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

    /// The rows around the cursor, at most `most`, each of at most `room` columns. Only about as much is looked at as is
    /// shown, however long the text is.
    pub(crate) fn shown(&self, room: usize, most: usize) -> Shown {
        // A place that stays the same while the cursor moves nearby, so that rows keep their breaks.
        let block = (self.cursor / LAID_OUT).saturating_sub(1) * LAID_OUT;
        let start = run_start(&self.text, self.text.floor_char_boundary(block));
        let end = self.text.floor_char_boundary(self.cursor + LAID_OUT);
        let mut rows = vec![String::new()];
        let (mut taken, mut at) = (0, start);
        let mut cursor = (0, 0);
        for sign in signs(&self.text[start..end]) {
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
        // The row behind the cursor's is shown, too, where there is one.
        let last = (cursor.0 + 2).max(most).min(rows.len());
        let first = last.saturating_sub(most).min(cursor.0);
        Shown {
            rows: rows[first..last.min(first + most)].to_vec(),
            row: cursor.0 - first,
            before: cursor.1,
        }
    }
}

/// A text as it is shown.
fn visible(text: &str) -> String {
    let signs = text.chars().filter_map(|c| match c {
        // A row ends there.
        '\n' => None,
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
            ("/git:fix it", Some(("git:fix", "it"))),
            ("/etc: what is it for?", None),
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
        let shown = line.shown(20, 8);
        assert_eq!(shown.rows, ["a", "b", "c", ""]);
        assert_eq!((shown.row, shown.before), (3, 0));
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
    fn nothing_that_a_terminal_would_obey_is_shown() {
        let line = typed(&[text("\u{1b}[2Ja\u{7}")]);
        assert_eq!(line.shown(20, 8).rows, ["␛[2Ja␇"]);
    }

    #[test]
    fn a_huge_paste_is_shown_as_fast_as_a_word_and_what_does_not_fit_is_counted() {
        for sign in ["a", "日", "e\u{301}", "👩‍💻", "\n"] {
            let mut line = typed(&[text(&sign.repeat(LONGEST / sign.len()))]);
            // Looking through all of it each time would take minutes, and such a test is ended.
            for _ in 0..50 {
                line.key(Key::Left);
                let shown = line.shown(80, 8);
                assert!(shown.rows.len() <= 8 && shown.rows.iter().all(|row| columns(row) <= 80));
            }
        }
        let mut line = typed(&[text(&"a".repeat(LONGEST + 3))]);
        assert_eq!((line.take_left_out(), line.take_left_out()), (3, 0));
    }

    #[test]
    fn earlier_lines_are_searched_and_the_draft_comes_back() {
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
    fn tab_leads_through_the_completions_of_a_word() {
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
