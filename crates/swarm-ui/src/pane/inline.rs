//! Emphasis and code within a line of Markdown.

/// A piece of text and the parameters of the SGR sequence that it is drawn with; none for plain text.
pub(super) type Span = (String, String);

/// Parameters for code.
pub(super) const CODE: &str = "36";

/// Bytes of text behind an opening mark that wait for the closing one; then the mark is taken as it is.
const PATIENCE: usize = 400;

/// Takes as much of `text` apart as is decided, and returns how many bytes that is. `before` is the character before it,
/// `base` the parameters that all of it is drawn with. With `is_whole` no more follows, and all of it is taken.
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
        let may_wait = !is_whole && rest.len() <= PATIENCE;
        let taken = match c {
            '\\' => escaped(rest, may_wait),
            '`' => code(rest, may_wait),
            '*' | '_' => emphasis(rest, last, may_wait),
            _ => Taken::Literal(c.len_utf8()),
        };
        let length = match taken {
            Taken::Wait => break,
            Taken::Literal(length) => {
                plain.push_str(&rest[..length]);
                length
            }
            Taken::Escaped(length) => {
                plain.push_str(&rest[1..length]);
                length
            }
            Taken::Inside { mark, end, style } => {
                flush(&mut plain, base, out);
                let (inner, style) = (&rest[mark..end], joined(base, style));
                if c == '`' {
                    out.push((inner.to_owned(), style));
                } else {
                    spans(inner, None, &style, true, out);
                }
                end + mark
            }
        };
        last = rest[..length].chars().next_back();
        at += length;
    }
    flush(&mut plain, base, out);
    at
}

/// What stands at the beginning of a text.
enum Taken {
    /// More of it decides.
    Wait,
    /// So many bytes as they are.
    Literal(usize),
    /// So many bytes, of which the first is left out.
    Escaped(usize),
    /// Text between two marks of `mark` bytes, of which the second begins at `end`.
    Inside {
        mark: usize,
        end: usize,
        style: &'static str,
    },
}

fn escaped(rest: &str, may_wait: bool) -> Taken {
    match rest[1..].chars().next() {
        None if may_wait => Taken::Wait,
        Some(next) if next.is_ascii_punctuation() => Taken::Escaped(2),
        _ => Taken::Literal(1),
    }
}

/// What a mark is whose end has not come: it is waited for, or the mark is text.
fn unended(mark: usize, may_wait: bool) -> Taken {
    if may_wait {
        Taken::Wait
    } else {
        Taken::Literal(mark)
    }
}

fn code(rest: &str, may_wait: bool) -> Taken {
    let mark = run(rest, '`');
    let mut at = mark;
    while let Some(found) = rest[at..].find('`') {
        let start = at + found;
        let length = run(&rest[start..], '`');
        let is_known = start + length < rest.len() || !may_wait;
        if length == mark && is_known {
            let style = CODE;
            return Taken::Inside {
                mark,
                end: start,
                style,
            };
        }
        at = start + length;
    }
    unended(mark, may_wait)
}

fn emphasis(rest: &str, before: Option<char>, may_wait: bool) -> Taken {
    let sign = if rest.starts_with('*') { '*' } else { '_' };
    let mark = run(rest, sign);
    let Some(next) = rest[mark..].chars().next() else {
        return unended(mark, may_wait);
    };
    let in_word = before.is_some_and(char::is_alphanumeric);
    // Within words two asterisks count, and nothing else: names are full of underscores, and formulas of asterisks.
    if mark > 3 || next.is_whitespace() || (in_word && !(sign == '*' && mark == 2)) {
        return Taken::Literal(mark);
    }
    let mut at = mark;
    while let Some(found) = rest[at..].find(sign) {
        let start = at + found;
        let length = run(&rest[start..], sign);
        let behind = rest[start + length..].chars().next();
        if behind.is_none() && may_wait {
            return Taken::Wait;
        }
        let is_behind_text = !rest[..start].ends_with(char::is_whitespace);
        let ends_word = !behind.is_some_and(char::is_alphanumeric) || (sign == '*' && mark == 2);
        if length == mark && is_behind_text && ends_word {
            let style = ["3", "1", "1;3"][mark - 1];
            return Taken::Inside {
                mark,
                end: start,
                style,
            };
        }
        at = start + length;
    }
    unended(mark, may_wait)
}

/// How many times a text begins with a sign of one byte.
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
    fn emphasis_and_code_are_told_from_signs_that_mean_nothing() {
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
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn text_streams_up_to_a_mark_that_is_still_open() {
        let mut out = Vec::new();
        let taken = spans("see **all of", None, "", false, &mut out);
        assert_eq!((taken, out.len()), (4, 1));
        let long = format!("see **{}", "word ".repeat(100));
        let taken = spans(&long, None, "", false, &mut out);
        assert!(taken > 6, "an open mark does not hold text back for ever");
    }
}
