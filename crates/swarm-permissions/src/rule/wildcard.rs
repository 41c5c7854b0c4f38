//! Patterns with `*`.

/// A pattern in which `*` matches any text, including the empty one. `\*` is a literal star, `\\` a
/// backslash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wildcard {
    /// The literal texts between the stars, one more than there are stars.
    pieces: Vec<String>,
}

impl Wildcard {
    /// Splits the pattern at its unescaped stars.
    pub(crate) fn new(pattern: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let Some(last) = pieces.last_mut() else { break };
            match c {
                '*' => pieces.push(String::new()),
                '\\' => match chars.next_if(|next| matches!(next, '*' | '\\' | '(' | ')')) {
                    Some(escaped) => last.push(escaped),
                    None => last.push(c),
                },
                _ => last.push(c),
            }
        }
        Self { pieces }
    }

    /// Returns the text of a pattern without stars.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the text before the star if it is the only one and at the end.
    pub(crate) fn only_trailing_star(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [head, tail] if tail.is_empty() => Some(head),
            _ => None,
        }
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        let Some((head, rest)) = self.pieces.split_first() else {
            return text.is_empty();
        };
        let Some((tail, middle)) = rest.split_last() else {
            return text == head;
        };
        let Some(mut text) = text.strip_prefix(head.as_str()) else {
            return false;
        };
        for piece in middle {
            let Some(at) = text.find(piece.as_str()) else {
                return false;
            };
            text = &text[at + piece.len()..];
        }
        text.ends_with(tail.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_text_and_escaped_stars_a_literal_star() {
        for (pattern, text, fits) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "abcb", false),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*b*b", "ab", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            (r"a\\", r"a\", true),
            (r"a\(b\)", "a(b)", true),
            (r"a\b", r"a\b", true),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("ä*ö", "äxö", true),
        ] {
            assert_eq!(
                Wildcard::new(pattern).matches(text),
                fits,
                "{pattern} on {text}"
            );
        }
    }
}
