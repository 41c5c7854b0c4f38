//! Renders Markdown that arrives in pieces: decided parts are drawn immediately.

use crate::pane::grid::Grid;
use crate::pane::inline::{CODE, spans};
use crate::pane::text_wrap::TextWrap;
use crate::style::Style;
use crate::syntax::Syntax;

/// SGR parameters of headings and of signs that replace marks.
const HEADING: &str = "1";
const DIM: &str = "2";

/// Width of a thematic break in columns.
const RULE: usize = 24;

/// Renders text into a [`TextWrap`]. Without colours text passes unchanged.
#[derive(Debug)]
pub(super) struct Markdown {
    is_on: bool,
    /// The part of the line that is not drawn yet.
    rest: String,
    /// The kind of line, once it is decided.
    line: Option<Line>,
    /// The last drawn character of the line.
    before: Option<char>,
    fence: Option<Fence>,
    table: Grid,
}

/// The start of a code block.
#[derive(Debug)]
struct Fence {
    /// The mark that ends the code block.
    mark: String,
    syntax: Option<Syntax>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Code, unchanged.
    Code,
    /// Text with these SGR parameters.
    Words(&'static str),
}

/// Interpretation of the start of a line.
enum Start {
    /// More text is needed.
    Wait,
    /// The line is complete and drawn, or part of something that is drawn later.
    Token,
    /// A line of this kind, of which this number of bytes is drawn.
    Begins(Line, usize),
}

impl Markdown {
    /// Creates a renderer that interprets Markdown if `is_on`.
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            rest: String::new(),
            line: None,
            before: None,
            fence: None,
            table: Grid::default(),
        }
    }

    /// Processes the next piece of sanitized text and returns the output that is decided.
    pub(super) fn push(&mut self, piece: &str, flow: &mut TextWrap) -> String {
        if !self.is_on {
            flow.push(piece);
            return flow.take();
        }
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(part) => {
                    self.rest.push_str(part);
                    self.advance(true, flow);
                    self.end_line(flow);
                }
                None => self.rest.push_str(part),
            }
        }
        self.advance(false, flow);
        flow.take()
    }

    /// Ends the text: returns all remaining output.
    pub(super) fn end(&mut self, flow: &mut TextWrap) -> String {
        if self.is_on {
            if !self.rest.is_empty() {
                self.advance(true, flow);
            }
            self.table.draw(flow);
            *self = Self::new(true);
        }
        flow.end()
    }

    fn end_line(&mut self, flow: &mut TextWrap) {
        self.rest.clear();
        self.before = None;
        if self.line.take().is_some() {
            flow.push("\n");
        }
        flow.hang(0);
    }

    /// Draws the decided part of the line.
    fn advance(&mut self, is_whole: bool, flow: &mut TextWrap) {
        if self.rest.is_empty() && !is_whole {
            return;
        }
        if self.line.is_none() {
            let start = std::mem::take(&mut self.rest);
            match self.start(&start, is_whole, flow) {
                Start::Wait => {
                    self.rest = start;
                    return;
                }
                Start::Token => return,
                Start::Begins(line, length) => {
                    start[length..].clone_into(&mut self.rest);
                    self.line = Some(line);
                }
            }
        }
        match self.line {
            Some(Line::Code) => self.advance_code(is_whole, flow),
            Some(Line::Words(base)) => {
                let mut parts = Vec::new();
                let taken = spans(&self.rest, self.before, base, is_whole, &mut parts);
                self.before = self.rest[..taken].chars().next_back().or(self.before);
                self.rest.drain(..taken);
                for (text, style) in parts {
                    flow.push_styled(&text, &style);
                }
            }
            None => {}
        }
    }

    /// Draws code. In a known language it is drawn line by line, because a word may be part of a
    /// string.
    fn advance_code(&mut self, is_whole: bool, flow: &mut TextWrap) {
        let syntax = self.fence.as_mut().and_then(|fence| fence.syntax.as_mut());
        if syntax.is_some() && !is_whole {
            return;
        }
        let code = std::mem::take(&mut self.rest);
        let Some(syntax) = syntax else {
            flow.push_styled(&code, CODE);
            return;
        };
        for (style, part) in syntax.line(&code) {
            let style = style.map_or_else(String::new, Style::sgr);
            flow.push_styled(part, &style);
        }
    }

    /// Decides the kind of the line, and draws its leading sign.
    fn start(&mut self, line: &str, is_whole: bool, flow: &mut TextWrap) -> Start {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        if let Some(fence) = &self.fence {
            let is_like_end = words.trim_end().chars().all(|c| fence.mark.starts_with(c));
            if is_like_end && !is_whole {
                return Start::Wait;
            }
            if is_like_end && words.trim_end().len() >= fence.mark.len() {
                self.fence = None;
                return Start::Token;
            }
            return Start::Begins(Line::Code, 0);
        }
        if !is_whole && is_undecided(words) {
            return Start::Wait;
        }
        if words.starts_with('|') {
            if is_whole {
                self.table.add(words);
                return Start::Token;
            }
            return Start::Wait;
        }
        self.table.draw(flow);
        if words.is_empty() {
            return Start::Begins(Line::Words(""), line.len());
        }
        if let Some(fence) = fence(words) {
            if !is_whole {
                return Start::Wait;
            }
            self.fence = Some(fence);
            return Start::Token;
        }
        if is_rule(words) {
            if is_whole {
                flow.push_styled(&"─".repeat(RULE), DIM);
                return Start::Begins(Line::Words(""), line.len());
            }
            return Start::Wait;
        }
        if let Some(length) = heading(words) {
            return Start::Begins(Line::Words(HEADING), indent + length);
        }
        if let Some(rest) = words.strip_prefix("> ") {
            flow.push_styled("│ ", DIM);
            flow.hang(2);
            return Start::Begins(Line::Words(""), line.len() - rest.len());
        }
        self.before = None;
        list_start(line, indent, flow)
    }
}

/// Draws the bullet of a list item; other lines are unchanged.
fn list_start(line: &str, indent: usize, flow: &mut TextWrap) -> Start {
    let words = &line[indent..];
    let sign = match words.split_once(' ') {
        Some(("-" | "*" | "+", _)) => "•",
        Some((number, _)) if is_number(number) => number,
        _ => return Start::Begins(Line::Words(""), 0),
    };
    let length = words.find(' ').map_or(0, |at| at + 1);
    flow.push(&line[..indent]);
    flow.push(&format!("{sign} "));
    flow.hang(indent + sign.chars().count() + 1);
    Start::Begins(Line::Words(""), indent + length)
}

/// Returns whether the start of a line may still become something other than text.
fn is_undecided(words: &str) -> bool {
    let mut signs = words.chars();
    match signs.next() {
        None => true,
        Some(sign @ ('#' | '-' | '*' | '+' | '>' | '`' | '~' | '_')) => {
            signs.all(|c| c == sign) && words.len() <= 6
        }
        Some(c) if c.is_ascii_digit() => {
            words.len() <= 4
                && words
                    .chars()
                    .all(|c| c.is_ascii_digit() || ".)".contains(c))
        }
        _ => false,
    }
}

/// Returns the start of a code block.
fn fence(words: &str) -> Option<Fence> {
    ["```", "~~~"].into_iter().find_map(|mark| {
        let sign = mark.chars().next()?;
        let length = words.chars().take_while(|c| *c == sign).count();
        let info = &words[length..];
        (length >= 3 && !info.contains(sign)).then(|| Fence {
            mark: words[..length].to_owned(),
            syntax: Syntax::of_info(info),
        })
    })
}

fn is_rule(words: &str) -> bool {
    let words = words.trim_end();
    words.len() >= 3
        && ['-', '*', '_']
            .iter()
            .any(|sign| words.chars().all(|c| c == *sign))
}

/// Returns the length of the mark of a heading.
fn heading(words: &str) -> Option<usize> {
    let level = words.chars().take_while(|c| *c == '#').count();
    let rest = &words[level..];
    ((1..=6).contains(&level) && rest.starts_with(' '))
        .then(|| words.len() - rest.trim_start().len())
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['.', ')']).unwrap_or_default();
    (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(pieces: &[&str], width: usize) -> String {
        let mut flow = TextWrap::new(2, Some(width));
        let mut markdown = Markdown::new(true);
        let mut out: String = pieces
            .iter()
            .map(|piece| markdown.push(piece, &mut flow))
            .collect();
        out += &markdown.end(&mut flow);
        out.replace('\u{1b}', "\\")
    }

    #[test]
    fn blocks_are_drawn_without_their_marks() {
        let text = "## A *title*\n\nText with **two words**.\n- one item that is long\n  - `in` it\n12. twelve\n> said\n---\n```text\nlet a = **b**;\n\n  c\n```\nend";
        assert_eq!(
            drawn(&[text], 24),
            "  \\[1mA\\[0m \\[1;3mtitle\\[0m\n\n  Text with \\[1mtwo\\[0m \\[1mwords\\[0m.\n  • one item that is\n    long\n    • \\[36min\\[0m it\n  12. twelve\n  \\[2m│\\[0m said\n  \\[2m──────────────────────\\[0m\n  \\[2m──\\[0m\n  \\[36mlet\\[0m \\[36ma\\[0m \\[36m=\\[0m \\[36m**b**;\\[0m\n\n    \\[36mc\\[0m\n  end\n"
        );
    }

    #[test]
    fn code_in_a_known_language_has_syntax_colours() {
        let text = "~~~rust\nlet a = \"b  c\"; // d\n/* e\nfn */ fn\n~~~\nfn `let`\n";
        assert_eq!(
            drawn(&[text], 40),
            "  \\[35mlet\\[0m a = \\[36m\"b\\[0m  \\[36mc\"\\[0m; \\[2m//\\[0m \\[2md\\[0m\n  \\[2m/*\\[0m \\[2me\\[0m\n  \\[2mfn\\[0m \\[2m*/\\[0m \\[35mfn\\[0m\n  fn \\[36mlet\\[0m\n"
        );
        let mut flow = TextWrap::new(2, Some(60));
        let mut markdown = Markdown::new(true);
        assert_eq!(markdown.push("```rust\nlet a = \"fn ", &mut flow), "");
        assert_eq!(
            markdown.end(&mut flow),
            "  \u{1b}[35mlet\u{1b}[0m a = \"\u{1b}[35mfn\u{1b}[0m\n"
        );
    }

    #[test]
    fn words_are_drawn_before_their_line_is_complete() {
        let mut flow = TextWrap::new(2, Some(60));
        let mut markdown = Markdown::new(true);
        assert_eq!(markdown.push("- first sec", &mut flow), "  • first");
        assert_eq!(markdown.push("ond **thi", &mut flow), " second");
        assert_eq!(
            markdown.push("rd** ", &mut flow),
            " \u{1b}[1mthird\u{1b}[0m"
        );
    }

    #[test]
    fn a_table_is_aligned_when_complete_and_unchanged_if_it_does_not_fit() {
        let table = "|name|`n`|\n|---|---:|\n|a|1|\n|long name|23|\n\nend\n";
        assert_eq!(
            drawn(&[&table[..9], &table[9..]], 40),
            "  \\[1mname\\[0m      \\[2m│\\[0m  \\[1;36mn\\[0m\n  \\[2m──────────┼───\\[0m\n  a         \\[2m│\\[0m  1\n  long name \\[2m│\\[0m 23\n\n  end\n"
        );
        assert!(drawn(&[&table.replace("long", "longer")], 16).contains("name|23|"));
        assert_eq!(drawn(&["|not a table|"], 40), "  |not a table|\n");
    }

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_the_pieces(
            text in "([a-z]{1,4}|[*_`#|>~-]{1,3}|[ \n]|1\\. |日|\\|a\\|b\\|\n|\\[a\\]\\(b\\.c\\)|\\[){0,30}",
            cut in any::<prop::sample::Index>(),
        ) {
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let (one, two) = text.split_at(cuts[cut.index(cuts.len())]);
            prop_assert_eq!(drawn(&[one, two], 30), drawn(&[&text], 30));
        }

        #[test]
        fn no_letter_is_lost(text in "([a-z日]{1,6}|[*_`#>+. \n|-]{1,3}){0,40}") {
            let letters = |text: &str| text.chars().filter(|c| c.is_ascii_lowercase() || *c == '日').collect::<String>();
            let plain = drawn(&[&text], 30);
            let plain = crate::pane::links::without_styles(&plain.replace('\\', "\u{1b}"));
            // The word after a code mark is the language, which is not displayed.
            prop_assume!(!text.contains("```"));
            prop_assert_eq!(letters(&plain), letters(&text));
        }
    }
}
