//! Vim keys of the input line.

use super::editor_mode::Vim;
use super::graphemes::graphemes;
use super::input::Key;
use super::line::InputLine;

/// The kind of a character: words consist of characters of one kind.
#[derive(PartialEq, Eq, Clone, Copy)]
enum CharKind {
    Space,
    Word,
    Other,
}

impl CharKind {
    fn of(grapheme: &str) -> Self {
        match grapheme.chars().next() {
            Some(c) if c.is_alphanumeric() || c == '_' => Self::Word,
            Some(c) if !c.is_whitespace() => Self::Other,
            _ => Self::Space,
        }
    }
}

impl InputLine {
    /// Handles a key as vim does. Returns a key that the line handles itself.
    pub(super) fn vim_key(&mut self, key: Key) -> Option<Key> {
        let is_empty = self.is_empty();
        let Some(vim) = &mut self.vim else {
            return Some(key);
        };
        match key {
            // On an empty line Esc interrupts the agent, so that this never takes two keys.
            Key::Interrupt if !vim.is_normal && !is_empty => {
                vim.is_normal = true;
                if self.cursor > self.line_start() {
                    self.cursor = self.before();
                }
                None
            }
            Key::Interrupt if vim.operator.take().is_some() => None,
            Key::Text(text) if vim.is_normal => {
                let command = text.chars().next()?;
                let key = match vim.operator.take() {
                    Some(operator) => {
                        self.operate(operator, command);
                        None
                    }
                    None => self.command(command),
                };
                self.stay_on_line();
                key
            }
            key => {
                vim.operator = None;
                Some(key)
            }
        }
    }

    /// Runs a command of normal mode. Returns a key that does the same.
    fn command(&mut self, command: char) -> Option<Key> {
        match command {
            'i' => self.enter_insert(self.cursor),
            'a' => self.enter_insert(self.line_end().min(self.after())),
            'I' => self.enter_insert(self.motion('^').unwrap_or(self.cursor)),
            'A' => self.enter_insert(self.line_end()),
            'o' => {
                self.enter_insert(self.line_end());
                self.insert("\n");
            }
            'O' => {
                self.enter_insert(self.line_start());
                self.insert("\n");
                self.cursor -= 1;
            }
            'd' | 'c' | 'y' => self.change_vim(|vim| vim.operator = Some(command)),
            'x' => self.operate('d', 'l'),
            'D' => self.operate('d', '$'),
            'C' => self.operate('c', '$'),
            'p' | 'P' => self.put(command == 'p'),
            'u' => self.undo(),
            'j' if self.line_end() < self.text.len() => self.move_to_line(self.line_end() + 1),
            'k' if self.line_start() > 0 => {
                let above = self.line_start() - 1;
                self.move_to_line(self.text[..above].rfind('\n').map_or(0, |at| at + 1));
            }
            // As in a shell with vi keys.
            'j' => return Some(Key::Down),
            'k' => return Some(Key::Up),
            motion => self.cursor = self.motion(motion).unwrap_or(self.cursor),
        }
        None
    }

    /// Returns where a motion leads.
    fn motion(&self, motion: char) -> Option<usize> {
        let (start, end) = (self.line_start(), self.line_end());
        Some(match motion {
            'h' => self.before().max(start),
            'l' | ' ' => self.after().min(end),
            '0' => start,
            '^' => end - self.text[start..end].trim_start().len(),
            '$' => end,
            'w' => self.word_after(self.cursor),
            'b' => self.word_before(),
            'e' => self.word_end(),
            _ => return None,
        })
    }

    /// Applies an operator to what a motion passes, or to the whole line if it is doubled.
    fn operate(&mut self, operator: char, motion: char) {
        if operator == motion {
            return self.operate_on_line(operator);
        }
        // Like vim, `cw` keeps the space after the word.
        if (operator, motion) == ('c', 'w') {
            return self.cut('c', self.cursor, self.run_end(self.cursor));
        }
        let Some(mut to) = self.motion(motion) else {
            return;
        };
        if motion == 'e' {
            to += graphemes(&self.text[to..]).next().map_or(0, str::len);
        } else if motion == 'w' {
            to = to.min(self.line_end().max(self.cursor));
        }
        self.cut(operator, self.cursor.min(to), self.cursor.max(to));
    }

    fn operate_on_line(&mut self, operator: char) {
        let (start, end) = (self.line_start(), self.line_end());
        let line = format!("{}\n", &self.text[start..end]);
        match operator {
            'd' if end < self.text.len() => self.cut('d', start, end + 1),
            'd' => self.cut('d', start.saturating_sub(1), end),
            operator => self.cut(operator, start, end),
        }
        self.change_vim(|vim| vim.register = line);
        if operator != 'c' {
            self.cursor = self.line_start();
        }
    }

    /// Copies a range, and deletes it unless the operator is `y`.
    fn cut(&mut self, operator: char, from: usize, to: usize) {
        self.save();
        let copied = self.text[from..to].to_owned();
        if operator != 'y' {
            self.remove(from, to);
        }
        self.change_vim(|vim| {
            vim.register = copied;
            vim.is_normal = operator != 'c';
        });
    }

    /// Inserts the register after the cursor or before it, and whole lines below or above.
    fn put(&mut self, is_after: bool) {
        let register = self.vim.as_ref().map(|vim| vim.register.clone());
        let Some(register) = register.filter(|register| !register.is_empty()) else {
            return;
        };
        self.save();
        match (register.strip_suffix('\n'), is_after) {
            (Some(line), true) => {
                self.cursor = self.line_end();
                self.insert(&format!("\n{line}"));
                self.cursor = self.line_start();
            }
            (Some(line), false) => {
                self.cursor = self.line_start();
                self.insert(&format!("{line}\n"));
                self.cursor -= 1;
                self.cursor = self.line_start();
            }
            (None, _) => {
                if is_after {
                    self.cursor = self.line_end().min(self.after());
                }
                self.insert(&register);
                self.cursor = self.before();
            }
        }
    }

    fn enter_insert(&mut self, at: usize) {
        self.save();
        self.cursor = at;
        self.change_vim(|vim| vim.is_normal = false);
    }

    /// Remembers the text before a change.
    fn save(&mut self) {
        let state = (self.text.clone(), self.cursor);
        self.change_vim(|vim| {
            if vim.undo.len() == Vim::UNDO {
                vim.undo.remove(0);
            }
            vim.undo.push(state);
        });
    }

    fn undo(&mut self) {
        let before = self.vim.as_mut().and_then(|vim| vim.undo.pop());
        if let Some(before) = before {
            (self.text, self.cursor) = before;
        }
    }

    /// Makes the present text the oldest one to which [`Self::undo`] returns.
    pub(super) fn begin_undo(&mut self) {
        let state = (self.text.clone(), self.cursor);
        self.change_vim(|vim| vim.undo = vec![state]);
    }

    /// Changes the state of the vim keys, if they are used.
    pub(super) fn change_vim(&mut self, change: impl FnOnce(&mut Vim)) {
        if let Some(vim) = &mut self.vim {
            change(vim);
        }
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let rest = &self.text[self.cursor..];
        rest.find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Moves to the same column of the line that starts at `start`.
    fn move_to_line(&mut self, start: usize) {
        let column = graphemes(&self.text[self.line_start()..self.cursor]).count();
        self.cursor = start;
        for _ in 0..column {
            self.cursor = self.after().min(self.line_end());
        }
    }

    /// In normal mode the cursor is on a character, not behind the last one of a line.
    fn stay_on_line(&mut self) {
        let is_normal = self.vim.as_ref().is_some_and(Vim::is_normal);
        if is_normal && self.cursor == self.line_end() && self.cursor > self.line_start() {
            self.cursor = self.before();
        }
    }

    fn word_after(&self, from: usize) -> usize {
        let mut at = from;
        let mut rest = graphemes(&self.text[from..]).peekable();
        let first = rest.peek().map(|first| CharKind::of(first));
        let mut has_left = first == Some(CharKind::Space);
        for grapheme in rest {
            let kind = CharKind::of(grapheme);
            has_left |= Some(kind) != first;
            if has_left && kind != CharKind::Space {
                break;
            }
            at += grapheme.len();
        }
        at
    }

    /// Returns where the characters of one kind at `from` end, at most at the end of the line.
    fn run_end(&self, from: usize) -> usize {
        let kind = CharKind::of(&self.text[from..]);
        let run = graphemes(&self.text[from..]).take_while(|one| CharKind::of(one) == kind);
        (from + run.map(str::len).sum::<usize>()).min(self.line_end())
    }

    fn word_end(&self) -> usize {
        let mut at = self.after();
        let spaces =
            graphemes(&self.text[at..]).take_while(|one| CharKind::of(one) == CharKind::Space);
        at += spaces.map(str::len).sum::<usize>();
        let kind = CharKind::of(&self.text[at..]);
        let word = graphemes(&self.text[at..]).take_while(|one| CharKind::of(one) == kind);
        let lengths: Vec<usize> = word.map(str::len).collect();
        let last = lengths.len().saturating_sub(1);
        (at + lengths[..last].iter().sum::<usize>()).min(self.text.len())
    }

    fn word_before(&self) -> usize {
        let before: Vec<&str> = graphemes(&self.text[..self.cursor]).collect();
        let mut before = before.into_iter().rev().peekable();
        let mut at = self.cursor;
        while let Some(space) = before.next_if(|one| CharKind::of(one) == CharKind::Space) {
            at -= space.len();
        }
        let kind = before.peek().map(|one| CharKind::of(one));
        while let Some(one) = before.next_if(|one| Some(CharKind::of(one)) == kind) {
            at -= one.len();
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::EditorMode;
    use crate::console::input::PaneInput;

    /// Types a text, presses Esc and then keys; `␛` is Esc. Returns the text with `|` before the
    /// cursor.
    fn after(text: &str, keys: &str) -> String {
        let mut line = vim_line(text);
        press(&mut line, keys);
        let (before, behind) = line.text().split_at(line.cursor);
        format!("{before}|{behind}")
    }

    fn vim_line(text: &str) -> InputLine {
        let mut line = InputLine::default();
        line.set_editor_mode(EditorMode::Vim);
        line.key(Key::Text(text.to_owned()));
        assert_eq!(line.key(Key::Interrupt), None);
        line
    }

    fn press(line: &mut InputLine, keys: &str) {
        for c in keys.chars() {
            let key = match c {
                '␛' => Key::Interrupt,
                c => Key::Text(c.to_string()),
            };
            assert_eq!(line.key(key), None);
        }
    }

    #[test]
    fn motions_move_as_in_vim() {
        for (keys, expected) in [
            ("", "one two.x thre|e"),
            ("0", "|one two.x three"),
            ("0w", "one |two.x three"),
            ("0ww", "one two|.x three"),
            ("0e", "on|e two.x three"),
            ("0ee", "one tw|o.x three"),
            ("b", "one two.x |three"),
            ("bb", "one two.|x three"),
            ("0$", "one two.x thre|e"),
            ("0lll", "one| two.x three"),
            ("hh", "one two.x th|ree"),
        ] {
            assert_eq!(after("one two.x three", keys), expected, "{keys}");
        }
        assert_eq!(after("ab\ncdef\ng", "kk"), "|ab\ncdef\ng");
        assert_eq!(after("ab\ncdef\ng", "klk"), "a|b\ncdef\ng");
        assert_eq!(after("ab\ncdef\ng", "kll"), "ab\ncd|ef\ng");
    }

    #[test]
    fn changes_change_as_in_vim() {
        for (text, keys, expected) in [
            ("abc", "x", "a|b"),
            ("one two", "0dw", "|two"),
            ("one two", "dw", "one t|w"),
            ("one two", "0cwten", "ten| two"),
            ("one two", "0cwten␛u", "|one two"),
            ("a two", "0cwb", "b| two"),
            ("two", "cwx", "twx|"),
            ("one two", "bD", "one| "),
            ("one two", "0Cx", "x|"),
            ("a\nb\nc", "kdd", "a\n|c"),
            ("a\nb\nc", "dd", "a\n|b"),
            ("a\nb\nc", "ddkp", "a\n|c\nb"),
            ("a\nb", "yyP", "a\n|b\nb"),
            ("ab", "xp", "a|b"),
            ("ab", "0xp", "b|a"),
            ("ab", "ix", "ax|b"),
            ("ab", "ax", "abx|"),
            (" ab", "Ix", " x|ab"),
            ("ab", "0Ax", "abx|"),
            ("a\nb", "kox", "a\nx|\nb"),
            ("a\nb", "Ox", "a\nx|\nb"),
            ("ab", "ccx", "x|"),
            ("ab", "xxu", "|a"),
            ("ab", "u", "|"),
            ("ab", "uu", "|"),
            ("日本語", "hx", "日|語"),
            ("ab", "d␛x", "|a"),
            ("ab", "zq", "a|b"),
        ] {
            assert_eq!(after(text, keys), expected, "{text:?} {keys}");
        }
    }

    #[test]
    fn a_key_that_is_not_a_motion_ends_an_operator() {
        let mut line = vim_line("one two");
        press(&mut line, "d");
        line.key(Key::Left);
        press(&mut line, "h");
        assert_eq!(line.text(), "one two");
    }

    #[test]
    fn undo_does_not_remove_text_that_was_not_typed() {
        let mut line = InputLine::default();
        line.set_editor_mode(EditorMode::Vim);
        line.set_text("a draft");
        press(&mut line, "␛uu");
        assert_eq!(line.text(), "a draft");
        press(&mut line, "x");
        assert_eq!(line.text(), "a draf");
        press(&mut line, "uuu");
        assert_eq!(line.text(), "a draft");
        line.remember(vec!["earlier".to_owned()]);
        line.key(Key::Up);
        press(&mut line, "uu");
        assert_eq!(line.text(), "earlier");
    }

    #[test]
    fn enter_sends_in_both_modes_and_the_next_line_starts_in_insert_mode() {
        let mut line = vim_line("one");
        assert_eq!(
            line.key(Key::Enter),
            Some(PaneInput::Line("one".to_owned()))
        );
        press(&mut line, "x");
        assert_eq!(line.text(), "x");
        line.clear();
        let interrupt = Some(PaneInput::Interrupt);
        assert_eq!(line.key(Key::Interrupt), interrupt, "on an empty line");
        let mut line = vim_line("one");
        assert_eq!(line.key(Key::Interrupt), interrupt, "in normal mode");
        line.key(Key::Pasted("x".to_owned()));
        assert_eq!(line.text(), "onxe", "a paste is no command");
    }
}
