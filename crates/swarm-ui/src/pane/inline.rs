//! Emphasis, code and links within a line of Markdown.

use std::ops::Range;

/// Text and the parameters of its SGR sequence; empty for plain text.
pub(super) type Span = (String, String);

/// SGR parameters of code.
pub(super) const CODE: &str = "36";

/// SGR parameters of the address of a link.
const ADDRESS: &str = "2";

/// Number of bytes after an opening mark that wait for the closing one; then the mark is taken
/// literally.
const MAX_PENDING: usize = 400;

/// Parses the decided part of `text` and returns its length in bytes. `before` is the preceding
/// character, `base` the SGR parameters of the whole text. With `is_whole` the text is complete and
/// parsed entirely.
pub(super) fn spans(
    text: &str,
    before: Option<char>,
    base: &str,
    is_whole: bool,
    out: &mut Vec<Span>,
) -> usize {
    let mut plain = String::new();
    let mut at = 0;
    let mut last = before;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let may_wait = !is_whole && rest.len() <= MAX_PENDING;
        let taken = match c {
            '\\' => escaped(rest, may_wait),
            '`' => code(rest, may_wait),
            '*' | '_' => emphasis(rest, last, may_wait),
            '[' => link(rest, last, may_wait),
            _ => Token::Literal(c.len_utf8()),
        };
        let length = match taken {
            Token::Wait => break,
            Token::Literal(length) => {
                plain.push_str(&rest[..length]);
                length
            }
            Token::Escaped(length) => {
                plain.push_str(&rest[1..length]);
                length
            }
            Token::Inside(mark, end, style) => {
                flush(&mut plain, base, out);
                let (inner, style) = (&rest[mark..end], joined(base, style));
                if c == '`' {
                    out.push((inner.to_owned(), style));
                } else {
                    spans(inner, None, &style, true, out);
                }
                end + mark
            }
            Token::Link(name, address) => {
                flush(&mut plain, base, out);
                spans(&rest[name.clone()], None, base, true, out);
                let target = &rest[address.clone()];
                if rest[name] != *target {
                    out.push((format!(" ({target})"), joined(base, ADDRESS)));
                }
                address.end + 1
            }
        };
        last = rest[..length].chars().next_back();
        at += length;
    }
    flush(&mut plain, base, out);
    at
}

/// The token at the start of a text.
enum Token {
    /// More text is needed.
    Wait,
    /// This number of bytes, unchanged.
    Literal(usize),
    /// This number of bytes, of which the first is omitted.
    Escaped(usize),
    /// Text between two marks: their length in bytes, where the second one starts, and the style of
    /// the text.
    Inside(usize, usize, &'static str),
    /// The name and the address of a link, which a parenthesis follows.
    Link(Range<usize>, Range<usize>),
}

fn escaped(rest: &str, may_wait: bool) -> Token {
    match rest[1..].chars().next() {
        None if may_wait => Token::Wait,
        Some(next) if next.is_ascii_punctuation() => Token::Escaped(2),
        _ => Token::Literal(1),
    }
}

/// Returns the token of a mark without an end: it waits for more text, or is literal.
fn unended(mark: usize, may_wait: bool) -> Token {
    if may_wait {
        Token::Wait
    } else {
        Token::Literal(mark)
    }
}

fn code(rest: &str, may_wait: bool) -> Token {
    let mark = run(rest, '`');
    let mut at = mark;
    while let Some(found) = rest[at..].find('`') {
        let start = at + found;
        let length = run(&rest[start..], '`');
        let is_known = start + length < rest.len() || !may_wait;
        if length == mark && is_known {
            return Token::Inside(mark, start, CODE);
        }
        at = start + length;
    }
    unended(mark, may_wait)
}

fn emphasis(rest: &str, before: Option<char>, may_wait: bool) -> Token {
    let sign = if rest.starts_with('*') { '*' } else { '_' };
    let mark = run(rest, sign);
    let Some(next) = rest[mark..].chars().next() else {
        return unended(mark, may_wait);
    };
    let in_word = before.is_some_and(char::is_alphanumeric);
    // Within words only two asterisks count: names contain underscores, and formulas contain
    // asterisks.
    if mark > 3 || next.is_whitespace() || (in_word && !(sign == '*' && mark == 2)) {
        return Token::Literal(mark);
    }
    let mut at = mark;
    while let Some(found) = rest[at..].find(sign) {
        let start = at + found;
        let length = run(&rest[start..], sign);
        let behind = rest[start + length..].chars().next();
        if behind.is_none() && may_wait {
            return Token::Wait;
        }
        let is_behind_text = !rest[..start].ends_with(char::is_whitespace);
        let ends_word = !behind.is_some_and(char::is_alphanumeric) || (sign == '*' && mark == 2);
        if length == mark && is_behind_text && ends_word {
            return Token::Inside(mark, start, ["3", "1", "1;3"][mark - 1]);
        }
        at = start + length;
    }
    unended(mark, may_wait)
}

/// Returns the token of `[name](address)`. Indices such as `a[i](x)` are not links.
fn link(rest: &str, before: Option<char>, may_wait: bool) -> Token {
    if before.is_some_and(char::is_alphanumeric) {
        return Token::Literal(1);
    }
    let Some(name_end) = rest.find(']') else {
        return unended(1, may_wait);
    };
    let start = name_end + 2;
    match rest[name_end + 1..].chars().next() {
        Some('(') => {}
        Some(_) => return Token::Literal(1),
        None => return unended(1, may_wait),
    }
    let mut depth = 1;
    for (at, c) in rest[start..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if c.is_whitespace() => return Token::Literal(1),
            _ => {}
        }
        if depth == 0 {
            let address = start..start + at;
            let is_address = name_end > 1 && rest[address.clone()].contains(['/', '.', '#', ':']);
            return if is_address {
                Token::Link(1..name_end, address)
            } else {
                Token::Literal(1)
            };
        }
    }
    unended(1, may_wait)
}

/// Returns how many times a text starts with a one-byte character.
fn run(text: &str, sign: char) -> usize {
    text.chars().take_while(|c| *c == sign).count()
}

fn joined(base: &str, style: &str) -> String {
    if base.is_empty() {
        style.to_owned()
    } else {
        format!("{base};{style}")
    }
}

fn flush(plain: &mut String, base: &str, out: &mut Vec<Span>) {
    if !plain.is_empty() {
        out.push((std::mem::take(plain), base.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = Vec::new();
        assert_eq!(spans(text, None, "", true, &mut out), text.len());
        let shown = out.iter().map(|(text, style)| match style.as_str() {
            "" => text.clone(),
            style => format!("<{style}:{text}>"),
        });
        shown.collect()
    }

    #[test]
    fn emphasis_and_code_are_distinguished_from_literal_characters() {
        for (text, expected) in [
            ("a **b c** d", "a <1:b c> d"),
            ("*a* _b_ ***c***", "<3:a> <3:b> <1;3:c>"),
            ("**a `b` c**", "<1:a ><1;36:b><1: c>"),
            ("`a*b*` ``x`y``", "<36:a*b*> <36:x`y>"),
            ("2 * 3 * 4, a*b*c", "2 * 3 * 4, a*b*c"),
            ("snake_case_name __init__", "snake_case_name <1:init>"),
            ("**kwargs and `open", "**kwargs and `open"),
            (r"\*a\* \d", r"*a* \d"),
            ("日**本**語", "日<1:本>語"),
            (
                "**[a *b*](https://c.d/e_(f))**",
                "<1:a ><1;3:b><1;2: (https://c.d/e_(f))>",
            ),
            ("see [#7](../a.md), x", "see #7<2: (../a.md)>, x"),
            ("[a.b/c](a.b/c)", "a.b/c"),
            (
                "a[i](b.c) [x] [](a.b) [i](x) [a](b.c d) [a](b.c",
                "a[i](b.c) [x] [](a.b) [i](x) [a](b.c d) [a](b.c",
            ),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn text_streams_up_to_an_open_mark() {
        let mut out = Vec::new();
        for text in ["see [a", "see [a b]", "see [a](b.", "see [a](b.(c)"] {
            assert_eq!(spans(text, None, "", false, &mut out), 4, "{text}");
        }
        out.clear();
        let taken = spans("see **all of", None, "", false, &mut out);
        assert_eq!((taken, out.len()), (4, 1));
        let long = format!("see **{}", "word ".repeat(100));
        let taken = spans(&long, None, "", false, &mut out);
        assert!(taken > 6, "an open mark does not delay text forever");
    }
}
