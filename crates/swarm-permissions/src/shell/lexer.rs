//! Parsing of a text to a [`Script`], with the token rules of POSIX shell and the redirections of
//! bash.
//!
//! Uncertain parses are marked (`broken`, `computed`, `grouped`); such commands are never allowed
//! without approval.

use super::quoting::{self, Cursor, Unterminated};
use super::script::{Part, Redirect, Script, Word};

/// Parses a command line.
pub(crate) fn read(text: &str) -> Script {
    let mut lexer = Lexer {
        cursor: Cursor::new(text),
        script: Script::default(),
        part: Part::default(),
        awaited: Vec::new(),
    };
    if lexer.run().is_err() {
        lexer.script.broken = true;
    }
    lexer.finish_part();
    lexer.script
}

#[derive(Debug)]
struct Lexer {
    cursor: Cursor,
    script: Script,
    part: Part,
    /// Delimiters of here-documents that begin after the next line break, and whether leading tabs
    /// are removed.
    awaited: Vec<(String, bool)>,
}

impl Lexer {
    fn run(&mut self) -> Result<(), Unterminated> {
        while let Some(c) = self.cursor.peek() {
            match c {
                ' ' | '\t' => self.cursor.at += 1,
                '\\' if self.cursor.take_continuation() => {}
                '#' => self.skip_comment(),
                '\n' => {
                    self.cursor.at += 1;
                    self.finish_part();
                    self.here_documents();
                }
                '&' if self.cursor.peek_at(1) == Some('>') => self.redirect()?,
                '&' | ';' | '|' => self.operator(),
                '<' | '>' if self.cursor.peek_at(1) == Some('(') => self.word_part()?,
                '<' | '>' => self.redirect()?,
                '(' | ')' => {
                    self.cursor.at += 1;
                    self.script.grouped = true;
                    self.finish_part();
                }
                _ => self.word_part()?,
            }
        }
        if self.awaited.is_empty() {
            Ok(())
        } else {
            Err(Unterminated)
        }
    }

    /// Parses an operator between commands; the cursor is at it.
    fn operator(&mut self) {
        let conditional = if self.cursor.take("&&") || self.cursor.take("||") {
            true
        } else if self.cursor.take("|&") || self.cursor.take("|") {
            self.part.conditional
        } else {
            self.cursor.at += 1;
            false
        };
        self.finish_part();
        self.part.conditional = conditional;
    }

    /// Ends the current command. If there is none yet, its operator still applies, as before a line
    /// break.
    fn finish_part(&mut self) {
        if !(self.part.words.is_empty() && self.part.redirects.is_empty()) {
            let part = std::mem::take(&mut self.part);
            self.script.parts.push(part);
        }
    }

    fn skip_comment(&mut self) {
        while self.cursor.peek().is_some_and(|c| c != '\n') {
            self.cursor.at += 1;
        }
    }

    fn word_part(&mut self) -> Result<(), Unterminated> {
        let word = self.word()?;
        // Not a process substitution, which would be part of the word.
        let before_redirect = matches!(self.cursor.peek(), Some('<' | '>'))
            && !word.raw.is_empty()
            && word.raw.chars().all(|c| c.is_ascii_digit());
        if before_redirect {
            return self.redirect();
        }
        self.part.words.push(word);
        Ok(())
    }

    /// Parses a word; the cursor is at its first character.
    fn word(&mut self) -> Result<Word, Unterminated> {
        let mut word = Word::default();
        let mut raw = String::new();
        let nested = &mut self.part.nested;
        let cursor = &mut self.cursor;
        loop {
            if cursor.take_continuation() {
                continue;
            }
            let Some(c) = cursor.peek() else { break };
            let from = cursor.at;
            match c {
                '<' | '>' if cursor.peek_at(1) == Some('(') => {
                    cursor.at += 2;
                    nested.push(quoting::balanced(cursor, '(', ')')?);
                    word.computed = true;
                }
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                _ => {
                    cursor.at += 1;
                    match c {
                        '\'' => quoting::single(cursor, &mut word)?,
                        '"' => quoting::double(cursor, &mut word, nested)?,
                        '\\' => word.text.push(cursor.next().ok_or(Unterminated)?),
                        '$' => quoting::dollar(cursor, &mut word, nested, false)?,
                        '`' => quoting::backticks(cursor, &mut word, nested)?,
                        _ => {
                            word.pattern |= matches!(c, '*' | '?' | '[' | '{');
                            word.text.push(c);
                        }
                    }
                }
            }
            raw.push_str(&cursor.slice(from));
        }
        word.raw = raw;
        if matches!(word.raw.as_str(), "{" | "[" | "[[") {
            word.pattern = false;
        }
        Ok(word)
    }

    /// Parses a redirection; the cursor is at its operator.
    fn redirect(&mut self) -> Result<(), Unterminated> {
        // Longest first; the flags are: may write, here-document, may copy a descriptor.
        const OPERATORS: [(&str, bool, bool, bool); 11] = [
            ("<<<", false, true, false),
            ("<<", false, true, false),
            ("<&", false, false, true),
            ("<>", true, false, false),
            ("<", false, false, false),
            ("&>>", true, false, false),
            ("&>", true, false, false),
            (">>", true, false, false),
            (">&", true, false, true),
            (">|", true, false, false),
            (">", true, false, false),
        ];
        let found = OPERATORS
            .iter()
            .find(|(operator, ..)| self.cursor.take(operator));
        let Some(&(operator, writes, here, copies)) = found else {
            return Err(Unterminated);
        };
        let strip_tabs = operator == "<<" && self.cursor.take("-");
        while matches!(self.cursor.peek(), Some(' ' | '\t')) || self.cursor.take_continuation() {
            if matches!(self.cursor.peek(), Some(' ' | '\t')) {
                self.cursor.at += 1;
            }
        }
        let target = self.word()?;
        if operator == "<<" {
            self.awaited.push((target.text.clone(), strip_tabs));
        }
        let digits = target.text.trim_end_matches('-');
        let descriptor =
            copies && target.is_literal() && digits.chars().all(|c| c.is_ascii_digit());
        self.part.redirects.push(Redirect {
            writes,
            here,
            descriptor,
            target,
        });
        Ok(())
    }

    fn here_documents(&mut self) {
        for (delimiter, strip_tabs) in std::mem::take(&mut self.awaited) {
            let mut text = String::new();
            let mut closed = false;
            while let Some(line) = self.line() {
                let bare = if strip_tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if bare == delimiter {
                    closed = true;
                    break;
                }
                text.push_str(bare);
                text.push('\n');
            }
            self.script.broken |= !closed;
            self.script.here_documents.push(text);
        }
    }

    /// Returns the next line without its line break, or `None` at the end of the text.
    fn line(&mut self) -> Option<String> {
        let from = self.cursor.at;
        self.cursor.peek()?;
        self.skip_comment();
        let line = self.cursor.slice(from);
        self.cursor.next();
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raws(text: &str) -> Vec<String> {
        let script = read(text);
        assert!(!script.broken, "{text}");
        script.parts.iter().map(Part::raw).collect()
    }

    #[test]
    fn commands_are_split_like_in_the_shell() {
        for (text, parts) in [
            ("a", vec!["a"]),
            ("a b  c", vec!["a b c"]),
            (
                "a && b || c ; d | e & f\ng |& h",
                vec!["a", "b", "c", "d", "e", "f", "g", "h"],
            ),
            (
                "a 'x; y' \"p && q\" r\\;s",
                vec!["a 'x; y' \"p && q\" r\\;s"],
            ),
            ("a # b; c\nd", vec!["a", "d"]),
            ("a#b", vec!["a#b"]),
            ("a \\\n b", vec!["a b"]),
            ("gi\\\nt log", vec!["git log"]),
            ("a 2>&1 | b >/dev/null", vec!["a", "b"]),
            ("a 2 >x", vec!["a 2"]),
            ("(a; b)", vec!["a", "b"]),
            ("a >&2 b", vec!["a b"]),
            ("a &>/dev/null b", vec!["a b"]),
            ("cat <<E\nx; y\nE\nb", vec!["cat", "b"]),
            ("cat <<-'E'\n\tx\n\tE\nb", vec!["cat", "b"]),
        ] {
            assert_eq!(raws(text), parts, "{text}");
        }
    }

    #[test]
    fn commands_behind_a_condition_are_marked() {
        let script = read("a | b; c && d | e |& f; g & h ||\n i\nj");
        let marked = script.parts.iter().filter(|part| part.conditional);
        let marked: Vec<_> = marked.map(Part::raw).collect();
        assert_eq!(marked, ["d", "e", "f", "i"]);
    }

    #[test]
    fn quotes_are_removed_from_words() {
        let script = read(r#"'r'm -"rf" \x $'\x72\155' "a\$b" "c\\d" $'\x72d' "#);
        let texts: Vec<_> = script.parts[0]
            .words
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        assert_eq!(texts, ["rm", "-rf", "x", "rm", "a$b", r"c\d", "rd"]);
    }

    #[test]
    fn computed_words_are_marked_and_their_commands_kept() {
        for (text, nested) in [
            ("a $(b c)", vec!["b c"]),
            ("a \"x $(b 'c)') y\"", vec!["b 'c)'"]),
            ("a `b`", vec!["b"]),
            ("a <(b) >(c)", vec!["b", "c"]),
            ("a ${x:-$(b)}", vec!["b"]),
            ("a $((1 + $(b)))", vec!["(1 + $(b))"]),
            ("a > $(b)", vec!["b"]),
        ] {
            let script = read(text);
            assert_eq!(script.parts[0].nested, nested, "{text}");
            assert!(!script.parts[0].is_plain(), "{text}");
        }
        for text in [
            "a $'b'", "a ${x@P}", "a $[1]", "a > f", "a >| f", "a &> f", "a <> f", "a <<< x",
            "a >&f",
        ] {
            assert!(!read(text).parts[0].is_plain(), "{text}");
        }
        for text in [
            "a $x ${y} $1 $?",
            "a '$(b)'",
            "a \\$x",
            "a 2>&1",
            "a >/dev/null",
            "a < f",
            "a 2>&-",
        ] {
            assert!(read(text).parts[0].is_plain(), "{text}");
        }
    }

    #[test]
    fn an_open_quote_or_bracket_is_reported() {
        for text in [
            "a 'b", "a \"b", "a `b", "a $(b", "a ${b", "a \\", "a <<E\nb", "cat <<E",
        ] {
            assert!(read(text).broken, "{text}");
        }
    }
}
