//! Parsing of quotes and expansions.

use super::script::Word;

/// The error for an unterminated quote or bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unterminated;

/// A position in a sequence of characters.
#[derive(Debug)]
pub(super) struct Cursor {
    chars: Vec<char>,
    pub(super) at: usize,
}

impl Cursor {
    pub(super) fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    /// Consumes `text` if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let fits = text
            .chars()
            .enumerate()
            .all(|(i, c)| self.peek_at(i) == Some(c));
        if fits {
            self.at += text.chars().count();
        }
        fits
    }

    pub(super) fn slice(&self, from: usize) -> String {
        self.chars
            .get(from..self.at)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    /// Consumes a backslash followed by a line break, which the shell drops.
    pub(super) fn take_continuation(&mut self) -> bool {
        self.take("\\\n")
    }
}

/// Parses `'…'` after the opening quote.
pub(super) fn single(cursor: &mut Cursor, word: &mut Word) -> Result<(), Unterminated> {
    loop {
        match cursor.next().ok_or(Unterminated)? {
            '\'' => return Ok(()),
            c => word.text.push(c),
        }
    }
}

/// Parses `"…"` after the opening quote.
pub(super) fn double(
    cursor: &mut Cursor,
    word: &mut Word,
    nested: &mut Vec<String>,
) -> Result<(), Unterminated> {
    loop {
        match cursor.next().ok_or(Unterminated)? {
            '"' => return Ok(()),
            '\\' => match cursor.next().ok_or(Unterminated)? {
                '\n' => {}
                c @ ('$' | '`' | '"' | '\\') => word.text.push(c),
                c => word.text.extend(['\\', c]),
            },
            '$' => dollar(cursor, word, nested, true)?,
            '`' => backticks(cursor, word, nested)?,
            c => word.text.push(c),
        }
    }
}

/// Parses an expansion after the `$`.
pub(super) fn dollar(
    cursor: &mut Cursor,
    word: &mut Word,
    nested: &mut Vec<String>,
    quoted: bool,
) -> Result<(), Unterminated> {
    let start = cursor.at - 1;
    match cursor.peek() {
        Some('(') => {
            cursor.at += 1;
            nested.push(balanced(cursor, '(', ')')?);
            word.computed = true;
        }
        Some('{') => {
            cursor.at += 1;
            let inside = balanced(cursor, '{', '}')?;
            if inside
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !inside.is_empty()
            {
                word.variable = true;
            } else {
                word.computed = true;
                nested.extend(substitutions(&inside));
            }
        }
        Some('[') => {
            cursor.at += 1;
            let inside = balanced(cursor, '[', ']')?;
            nested.extend(substitutions(&inside));
            word.computed = true;
        }
        Some('\'') if !quoted => {
            cursor.at += 1;
            word.computed = true;
            return ansi_c(cursor, word);
        }
        Some('"') if !quoted => {
            cursor.at += 1;
            return double(cursor, word, nested);
        }
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            while cursor
                .peek()
                .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
            {
                cursor.at += 1;
            }
            word.variable = true;
        }
        Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
            cursor.at += 1;
            word.variable = true;
        }
        _ => {}
    }
    word.text.push_str(&cursor.slice(start));
    Ok(())
}

/// Parses `` `…` `` after the opening backtick.
pub(super) fn backticks(
    cursor: &mut Cursor,
    word: &mut Word,
    nested: &mut Vec<String>,
) -> Result<(), Unterminated> {
    let start = cursor.at - 1;
    let mut inside = String::new();
    loop {
        match cursor.next().ok_or(Unterminated)? {
            '`' => break,
            '\\' => match cursor.next().ok_or(Unterminated)? {
                c @ ('`' | '\\' | '$') => inside.push(c),
                c => inside.extend(['\\', c]),
            },
            c => inside.push(c),
        }
    }
    nested.push(inside);
    word.computed = true;
    word.text.push_str(&cursor.slice(start));
    Ok(())
}

/// Returns the text up to the matching closing bracket, respecting quotes. The opening bracket is
/// already consumed.
pub(super) fn balanced(
    cursor: &mut Cursor,
    open: char,
    close: char,
) -> Result<String, Unterminated> {
    let start = cursor.at;
    let mut depth = 1_u32;
    let mut ignored = Word::default();
    let mut inner = Vec::new();
    loop {
        match cursor.next().ok_or(Unterminated)? {
            c if c == open => depth += 1,
            c if c == close => {
                depth -= 1;
                if depth == 0 {
                    let mut inside = cursor.slice(start);
                    inside.pop();
                    return Ok(inside);
                }
            }
            '\\' => {
                cursor.next().ok_or(Unterminated)?;
            }
            '\'' if close != '}' => single(cursor, &mut ignored)?,
            '"' => double(cursor, &mut ignored, &mut inner)?,
            '`' => backticks(cursor, &mut ignored, &mut inner)?,
            _ => {}
        }
    }
}

/// Returns the command substitutions in a text that the shell treats like the inside of double
/// quotes.
pub(super) fn substitutions(text: &str) -> Vec<String> {
    let mut cursor = Cursor::new(text);
    let mut word = Word::default();
    let mut nested = Vec::new();
    while let Some(c) = cursor.next() {
        let read = match c {
            '\\' => {
                cursor.at += 1;
                Ok(())
            }
            '$' => dollar(&mut cursor, &mut word, &mut nested, true),
            '`' => backticks(&mut cursor, &mut word, &mut nested),
            _ => Ok(()),
        };
        if read.is_err() {
            break;
        }
    }
    nested
}

/// Parses `$'…'` after the opening quote.
fn ansi_c(cursor: &mut Cursor, word: &mut Word) -> Result<(), Unterminated> {
    loop {
        match cursor.next().ok_or(Unterminated)? {
            '\'' => return Ok(()),
            '\\' => {
                let c = match cursor.next().ok_or(Unterminated)? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'x' => number(cursor, 16, 2),
                    'u' => number(cursor, 16, 4),
                    'U' => number(cursor, 16, 8),
                    c @ '0'..='7' => {
                        cursor.at -= 1;
                        debug_assert_eq!(cursor.peek(), Some(c));
                        number(cursor, 8, 3)
                    }
                    c => c,
                };
                word.text.push(c);
            }
            c => word.text.push(c),
        }
    }
}

/// Parses the character whose code comes next, with at most `digits` digits.
fn number(cursor: &mut Cursor, radix: u32, digits: usize) -> char {
    let mut value = 0_u32;
    for _ in 0..digits {
        let Some(digit) = cursor.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        cursor.at += 1;
    }
    char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
}
