//! Classifies source code line by line: keywords, literals and comments.

use super::languages::{LANGUAGES, Language};
use crate::style::Style;

const COMMENT: Style = Style::Dim;

/// The syntax of a language, after the lines so far.
///
/// It knows the words and the marks of a language, not its grammar. A wrong guess ends with its
/// line, except for marks that enclose several lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Syntax {
    language: &'static Language,
    /// The comment or string that the last line left open, and the mark that ends it.
    open: Option<(Style, &'static str)>,
    /// Whether the lines are those of a hunk of a difference.
    in_hunk: bool,
}

impl Syntax {
    /// Returns the syntax of a language, by its name or a file extension.
    fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let language = LANGUAGES
            .iter()
            .find(|language| language.names.split(' ').any(|own| own == name))?;
        Some(Self {
            language,
            open: None,
            in_hunk: false,
        })
    }

    /// Returns the syntax that the first line of a code block names, such as `rust,ignore`.
    pub(crate) fn of_info(info: &str) -> Option<Self> {
        let info = info.trim_start_matches([' ', '{', '.']);
        let end = info.find(|c: char| !(c.is_alphanumeric() || "+#-_".contains(c)));
        Self::named(&info[..end.unwrap_or(info.len())])
    }

    /// Returns the syntax of the first file in a line whose extension is known.
    pub(crate) fn of_file_in(line: &str) -> Option<Self> {
        line.split_whitespace()
            .find_map(|word| Self::named(word.rsplit_once('.')?.1))
    }

    /// Returns the parts of the next line with their styles, `None` for those that look like the text
    /// around them.
    pub(crate) fn line<'a>(&mut self, line: &'a str) -> Vec<(Option<Style>, &'a str)> {
        let mut parts = Vec::new();
        let styles = self.language.line_styles;
        if !styles.is_empty() && !line.is_empty() {
            let mut known = styles.iter().filter(|(start, _)| line.starts_with(start));
            // In a hunk, `--- a` is a removed line `-- a`.
            let found = if self.in_hunk {
                known.next_back()
            } else {
                known.next()
            };
            self.in_hunk = match found {
                Some(("@@", _)) => true,
                Some(("diff ", _)) => false,
                _ => self.in_hunk,
            };
            return vec![(found.map(|(_, style)| *style), line)];
        }
        let (mut begin, mut at) = (0, 0);
        let mut style = None;
        while let Some(c) = line[at..].chars().next() {
            let (next, length) = self.token(line, at, c);
            if next != style {
                if at > begin {
                    parts.push((style, &line[begin..at]));
                }
                (style, begin) = (next, at);
            }
            at += length;
        }
        if at > begin {
            parts.push((style, &line[begin..at]));
        }
        parts
    }

    /// Returns the style and the length of the token at `at`, which starts with `c`.
    fn token(&mut self, line: &str, at: usize, c: char) -> (Option<Style>, usize) {
        let (language, rest) = (self.language, &line[at..]);
        if let Some((style, end)) = self.open {
            return self.block(rest, 0, style, end);
        }
        if let Some((style, start, end)) = block_start(language, rest) {
            return self.block(rest, start.len(), style, end);
        }
        if is_line_comment(language, line, at) {
            return (Some(COMMENT), rest.len());
        }
        if c.is_alphabetic() || c == '_' {
            let end = rest
                .find(|sign: char| !is_of_word(sign))
                .unwrap_or(rest.len());
            let is_keyword = is_keyword(language, &rest[..end]);
            return (is_keyword.then_some(Style::Keyword), end);
        }
        if c.is_ascii_digit() {
            return (Some(Style::Literal), number_length(rest));
        }
        let length = match c {
            c if language.quotes.contains(&c) => quoted_length(rest),
            '\'' if language.has_characters => character_length(rest),
            _ => None,
        };
        match length {
            Some(length) => (Some(Style::Literal), length),
            None => (None, c.len_utf8()),
        }
    }

    /// Returns the token of a comment or string that may continue in the next line. Its end is
    /// searched for from `from`.
    fn block(
        &mut self,
        rest: &str,
        from: usize,
        style: Style,
        end: &'static str,
    ) -> (Option<Style>, usize) {
        let length = end_of(&rest[from..], end, style == Style::Literal);
        self.open = length.is_none().then_some((style, end));
        let length = length.map_or(rest.len(), |length| from + length);
        (Some(style), length)
    }
}

/// Returns the style of a comment or string of several lines that starts here, and its marks.
fn block_start(
    language: &'static Language,
    rest: &str,
) -> Option<(Style, &'static str, &'static str)> {
    let comments = language.block_comments.iter();
    let comments = comments.map(|(start, end)| (COMMENT, *start, *end));
    let strings = language.block_strings.iter();
    let strings = strings.map(|mark| (Style::Literal, *mark, *mark));
    comments
        .chain(strings)
        .find(|(_, start, _)| rest.starts_with(*start))
}

fn is_line_comment(language: &Language, line: &str, at: usize) -> bool {
    let (before, rest) = line.split_at(at);
    let mut marks = language.line_comments.iter();
    let is_mark = marks.any(|mark| rest.starts_with(*mark));
    // `$#` and `a#b` are not comments.
    is_mark
        && (!rest.starts_with('#') || before.is_empty() || before.ends_with(char::is_whitespace))
}

fn is_keyword(language: &Language, word: &str) -> bool {
    let mut keywords = language.keywords.split(' ');
    if language.folds_case {
        keywords.any(|keyword| keyword.eq_ignore_ascii_case(word))
    } else {
        keywords.any(|keyword| keyword == word)
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a number: `1.5`, `0xff`, and `1` in `1..2`.
fn number_length(rest: &str) -> usize {
    let mut signs = rest.char_indices().peekable();
    while let Some((at, c)) = signs.next() {
        let is_point = c == '.' && signs.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        if !is_of_word(c) && !is_point {
            return at;
        }
    }
    rest.len()
}

/// Returns the length of a string within the line; its quotation mark is one byte.
fn quoted_length(rest: &str) -> Option<usize> {
    let (mark, inner) = rest.split_at(1);
    Some(1 + end_of(inner, mark, true)?)
}

/// Returns the length of a character in quotes. Lifetimes and apostrophes are not characters.
fn character_length(rest: &str) -> Option<usize> {
    let inner = &rest[1..];
    if inner.starts_with('\\') {
        return Some(1 + end_of(inner, "'", true)?);
    }
    let length = inner.chars().next()?.len_utf8();
    inner[length..].starts_with('\'').then_some(length + 2)
}

/// Returns the length up to and including a mark; with `escapes`, a backslash escapes it.
fn end_of(text: &str, mark: &str, escapes: bool) -> Option<usize> {
    let mut signs = text.char_indices();
    while let Some((at, c)) = signs.next() {
        if text[at..].starts_with(mark) {
            return Some(at + mark.len());
        }
        if c == '\\' && escapes {
            signs.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(name: &str, text: &str) -> String {
        let mut syntax = Syntax::named(name).expect("a known language");
        let mut out = String::new();
        for line in text.lines() {
            let parts = syntax.line(line).into_iter();
            out.extend(parts.map(|(style, part)| match style {
                Some(Style::Keyword) => format!("<k:{part}>"),
                Some(Style::Literal) => format!("<l:{part}>"),
                Some(Style::Good) => format!("<+:{part}>"),
                Some(Style::Bad) => format!("<-:{part}>"),
                Some(_) => format!("<c:{part}>"),
                None => part.to_owned(),
            }));
            out.push('\n');
        }
        out.trim_end().to_owned()
    }

    #[test]
    fn keywords_literals_and_comments_are_recognized_by_language() {
        for (name, line, expected) in [
            (
                "rust",
                r#"let a: &'a str = "\" // y"; // it's 1"#,
                r#"<k:let> a: &'a str = <l:"\" // y">; <c:// it's 1>"#,
            ),
            (
                "RS",
                r"match c { '\'' => 1.5, _ => 0xff..2 }",
                r"<k:match> c { <l:'\''> => <l:1.5>, _ => <l:0xff>..<l:2> }",
            ),
            (
                "sh",
                r#"if [ $# -gt 1 ]; then echo "a #b" # c"#,
                r#"<k:if> [ $# -gt <l:1> ]; <k:then> echo <l:"a #b"> <c:# c>"#,
            ),
            (
                "python",
                r"def f1(x): return f'it\'s {x}'",
                r"<k:def> f1(x): <k:return> f<l:'it\'s {x}'>",
            ),
            ("yaml", "key: don't # no", "key: don't <c:# no>"),
            (
                "sql",
                "select * FROM t -- all",
                "<k:select> * <k:FROM> t <c:-- all>",
            ),
            ("json", r#"{"日": null}"#, r#"{<l:"日">: <k:null>}"#),
        ] {
            assert_eq!(marked(name, line), expected, "{name}");
        }
    }

    #[test]
    fn comments_and_strings_continue_in_the_next_line() {
        assert_eq!(
            marked("c", "a /* b\nint\n*/ int \"open\nint"),
            "a <c:/* b>\n<c:int>\n<c:*/> <k:int> \"open\n<k:int>"
        );
        assert_eq!(marked("js", "`a\nif` if"), "<l:`a>\n<l:if`> <k:if>");
        assert_eq!(
            marked("lua", "--[[ a\n]] end"),
            "<c:--[[ a>\n<c:]]> <k:end>"
        );
    }

    #[test]
    fn lines_of_a_difference_have_one_style() {
        assert_eq!(
            marked(
                "diff",
                "--- a\n@@ -1 +1 @@\n if \"1\"\n-a 1\n+a \"2\"\n\n\\ No newline"
            ),
            "<c:--- a>\n<l:@@ -1 +1 @@>\n if \"1\"\n<-:-a 1>\n<+:+a \"2\">\n\n\\ No newline"
        );
        assert_eq!(
            marked("diff", "@@ -1 +1 @@\n--- a\n+++ a\ndiff b\n--- b"),
            "<l:@@ -1 +1 @@>\n<-:--- a>\n<+:+++ a>\n<c:diff b>\n<c:--- b>"
        );
    }

    #[test]
    fn a_language_is_known_by_its_name_or_a_file() {
        for info in ["rust", " Rust,ignore", "{.rust .numbered}", "rs title"] {
            let known = Syntax::of_info(info).map(|syntax| syntax.language.names);
            assert_eq!(known, Some("rust rs"), "{info}");
        }
        assert!(Syntax::of_info("").is_none() && Syntax::of_info("text").is_none());
        let file = |line| Syntax::of_file_in(line).map(|syntax| syntax.language.names);
        assert_eq!(file("Edit my notes/a.b.rs"), Some("rust rs"));
        assert_eq!(file("Write notes"), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_in_any_language(
            text in "([a-z0-9_ ]{1,6}|[\"'`/*#<!>{}\\[\\]\\\\.-]{1,3}|日|\n){0,30}",
            at in any::<prop::sample::Index>(),
        ) {
            let language = &LANGUAGES[at.index(LANGUAGES.len())];
            let mut syntax = Syntax { language, open: None, in_hunk: false };
            for line in text.lines() {
                let parts = syntax.line(line);
                let whole: String = parts.iter().map(|(_, part)| *part).collect();
                prop_assert_eq!(whole, line);
                prop_assert!(parts.iter().all(|(_, part)| !part.is_empty()));
            }
        }
    }
}
