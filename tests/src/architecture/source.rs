//! Reduces Rust source to what rules may inspect: comments and the contents of literals are blanked
//! out, and items under `cfg(test)` can be removed. Positions and lines do not change.

use std::ops::Range;

/// A Rust file with blanked comments and literals.
#[derive(Debug, Clone)]
pub struct Source {
    text: Vec<char>,
    blanked: Vec<char>,
    test_items: Vec<Range<usize>>,
}

impl Source {
    /// Parses a file.
    pub fn new(text: &str) -> Self {
        let blanked = blank(text);
        let test_items = test_items(&blanked);
        Self {
            text: text.chars().collect(),
            blanked,
            test_items,
        }
    }

    /// Returns the contents of the string literals in the code without test items, as written.
    pub fn strings(&self) -> impl Iterator<Item = String> {
        let code: Vec<char> = self.code().chars().collect();
        let quotes: Vec<usize> = (0..code.len()).filter(|at| code[*at] == '"').collect();
        let strings = quotes.chunks_exact(2).map(|ends| ends[0] + 1..ends[1]);
        let strings: Vec<String> = strings
            .map(|inside| self.text[inside].iter().collect())
            .collect();
        strings.into_iter()
    }

    /// Returns the code without comments, contents of literals, and test items.
    pub fn code(&self) -> String {
        let mut code = self.blanked.clone();
        for item in &self.test_items {
            for c in &mut code[item.clone()] {
                if *c != '\n' {
                    *c = ' ';
                }
            }
        }
        code.into_iter().collect()
    }

    /// Returns whether the file has an ignored test.
    pub fn has_ignored_test(&self) -> bool {
        let visible: String = self.blanked.iter().collect();
        visible.contains("#[ignore")
    }

    /// Returns the number of lines excluding test items.
    pub fn lines_before_tests(&self) -> usize {
        let all = lines(&self.blanked);
        let of_tests: usize = self
            .test_items
            .iter()
            .map(|item| lines(&self.blanked[item.clone()]))
            .sum();
        all.saturating_sub(of_tests)
    }
}

fn lines(text: &[char]) -> usize {
    let breaks = text.iter().filter(|c| **c == '\n').count();
    breaks + usize::from(text.last().is_some_and(|c| *c != '\n'))
}

/// Lexical context of a position.
enum Inside {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text { raw_hashes: Option<usize> },
    Character,
}

fn blank(text: &str) -> Vec<char> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::with_capacity(chars.len());
    let mut inside = Inside::Code;
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let (width, next, keep) = step(&inside, rest, out.last().copied());
        for c in &rest[..width] {
            out.push(if keep || *c == '\n' { *c } else { ' ' });
        }
        if let Some(next) = next {
            inside = next;
        }
        at += width;
    }
    out
}

/// Returns the number of characters to consume, the context that they start, and whether they
/// remain visible.
fn step(inside: &Inside, rest: &[char], before: Option<char>) -> (usize, Option<Inside>, bool) {
    match inside {
        Inside::Code => step_in_code(rest, before),
        Inside::LineComment if rest[0] == '\n' => (1, Some(Inside::Code), true),
        Inside::LineComment => (1, None, false),
        Inside::BlockComment { depth } => match rest {
            ['/', '*', ..] => (2, Some(Inside::BlockComment { depth: depth + 1 }), false),
            ['*', '/', ..] if *depth == 1 => (2, Some(Inside::Code), false),
            ['*', '/', ..] => (2, Some(Inside::BlockComment { depth: depth - 1 }), false),
            _ => (1, None, false),
        },
        Inside::Text { raw_hashes: None } => match rest {
            ['\\', _, ..] => (2, None, false),
            ['"', ..] => (1, Some(Inside::Code), true),
            _ => (1, None, false),
        },
        Inside::Text {
            raw_hashes: Some(hashes),
        } => {
            let closes =
                rest[0] == '"' && rest[1..].iter().take_while(|c| **c == '#').count() >= *hashes;
            if closes {
                (1 + hashes, Some(Inside::Code), true)
            } else {
                (1, None, false)
            }
        }
        Inside::Character => match rest {
            ['\\', _, ..] => (2, None, false),
            ['\'', ..] => (1, Some(Inside::Code), true),
            _ => (1, None, false),
        },
    }
}

fn step_in_code(rest: &[char], before: Option<char>) -> (usize, Option<Inside>, bool) {
    match rest {
        ['/', '/', ..] => (2, Some(Inside::LineComment), false),
        ['/', '*', ..] => (2, Some(Inside::BlockComment { depth: 1 }), false),
        ['"', ..] => (1, Some(Inside::Text { raw_hashes: None }), true),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => (1, Some(Inside::Character), true),
        ['r', tail @ ..] if !before.is_some_and(is_word_but_prefix) => {
            let hashes = tail.iter().take_while(|c| **c == '#').count();
            if tail.get(hashes) == Some(&'"') {
                let raw = Inside::Text {
                    raw_hashes: Some(hashes),
                };
                (hashes + 2, Some(raw), true)
            } else {
                (1, None, true)
            }
        }
        _ => (1, None, true),
    }
}

/// Returns whether an `r` after this character belongs to a longer word; `br"…"` and `cr"…"` are
/// raw strings too.
fn is_word_but_prefix(c: char) -> bool {
    (c.is_alphanumeric() || c == '_') && c != 'b' && c != 'c'
}

/// Returns the ranges of items that are compiled for tests only, including their attributes.
fn test_items(blanked: &[char]) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    let mut at = 0;
    while at < blanked.len() {
        let Some(end) = attribute_end(blanked, at) else {
            at += 1;
            continue;
        };
        if is_test_attribute(&blanked[at..end]) {
            let item = at..item_end(blanked, end);
            at = item.end;
            items.push(item);
        } else {
            at = end;
        }
    }
    items
}

/// Returns the end of the outer attribute at a position, if there is one.
fn attribute_end(blanked: &[char], at: usize) -> Option<usize> {
    (blanked[at..].starts_with(&['#', '['])).then(|| closing(blanked, at + 1, '[', ']'))
}

fn is_test_attribute(attribute: &[char]) -> bool {
    let text: String = attribute.iter().filter(|c| !c.is_whitespace()).collect();
    text.starts_with("#[cfg(test)") || text.starts_with("#[cfg(all(test,")
}

/// Returns the end of the item after its attributes: its `;`, or the closing brace of its body.
fn item_end(blanked: &[char], from: usize) -> usize {
    let mut at = from;
    while at < blanked.len() {
        if let Some(end) = attribute_end(blanked, at) {
            at = end;
            continue;
        }
        match blanked[at] {
            ';' => return at + 1,
            '{' => return closing(blanked, at, '{', '}'),
            _ => at += 1,
        }
    }
    at
}

/// Returns the position after the bracket that closes the one at `from`, or the end of the text.
fn closing(blanked: &[char], from: usize, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in blanked[from..].iter().enumerate() {
        if *c == open {
            depth += 1;
        } else if *c == close {
            depth -= 1;
            if depth == 0 {
                return from + offset + 1;
            }
        }
    }
    blanked.len()
}

/// Removes outer and inner attributes, so that only items remain.
pub(crate) fn without_attributes(code: &str) -> String {
    let chars: Vec<char> = code.chars().collect();
    let mut out = String::with_capacity(code.len());
    let mut at = 0;
    while at < chars.len() {
        at = match chars[at..] {
            ['#', '[', ..] => closing(&chars, at + 1, '[', ']'),
            ['#', '!', '[', ..] => closing(&chars, at + 2, '[', ']'),
            [c, ..] => {
                out.push(c);
                at + 1
            }
            [] => chars.len(),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::new(text).code()
    }

    #[test]
    fn contents_of_comments_and_literals_are_hidden() {
        let text = r##"
            let a = "println!"; // println!
            /* println! /* println! */ println! */ let b = 'p';
            let c = r#"println!"{"#; let d: &'static str = br"println!";
            let e = '\''; let f = '"'; let g = "\"println!";
            println!();"##;
        assert_eq!(code(text).matches("println!").count(), 1);
        assert!(code(text).contains("let d: &'static str"));
    }

    #[test]
    fn strings_are_read_outside_comments_and_tests() {
        let text = "let a = \"one\"; // \"two\"\nlet b = ('\"', r#\"th\"ree\"#);\n#[cfg(test)]\nmod tests { fn t() { \"four\" } }";
        assert_eq!(
            Source::new(text).strings().collect::<Vec<_>>(),
            ["one", "th\"ree"]
        );
    }

    #[test]
    fn a_raw_identifier_is_not_a_raw_string() {
        assert_eq!(code("r#type + bar\"x\""), "r#type + bar\" \"");
    }

    #[test]
    fn test_items_are_removed_and_following_items_stay() {
        let text = "#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\nfn stays() {}\n#[cfg(test)]\nmod inner {\n    fn goes() { { } }\n}\nfn stays_too() {}\n";
        let kept = code(text);
        assert!(kept.contains("fn stays()") && kept.contains("fn stays_too()"));
        assert!(!kept.contains("goes") && !kept.contains("mod"));
    }

    #[test]
    fn lines_of_tests_are_not_counted() {
        let text = "fn a() {}\nfn b() {}\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        assert_eq!(Source::new(text).lines_before_tests(), 2);
        assert_eq!(Source::new("").lines_before_tests(), 0);
    }

    #[test]
    fn attributes_are_removed_with_all_their_lines() {
        let text = "#![allow(\n    a,\n    reason = \"[\"\n)]\n#[b]\nmod x;";
        let bare = without_attributes(&Source::new(text).code());
        assert_eq!(bare.trim(), "mod x;");
    }
}
