//! Colours of a difference as git prints it.

use crate::style::{Style, paint};
use crate::theme::Theme;

/// The start of the first line about a file.
const FILE: &str = "diff --git ";

/// A line of a text, and its style if it is part of a difference.
pub(crate) type StyledLine = (Option<Style>, String);

/// Returns the lines of a text, with styles if it is a difference.
pub(crate) fn styled_lines(text: &str) -> Vec<StyledLine> {
    let is_difference = text.starts_with(FILE);
    let mut is_heading = true;
    let mut style = |line: &str| {
        if line.starts_with(FILE) {
            is_heading = true;
        } else if line.starts_with("@@ ") {
            is_heading = false;
            return Some(Style::Dim);
        }
        match line.chars().next() {
            _ if is_heading => Some(Style::Bold),
            Some('+') => Some(Style::Good),
            Some('-') => Some(Style::Bad),
            _ => None,
        }
    };
    let lines = text.lines().map(|line| {
        let style = is_difference.then(|| style(line)).flatten();
        (style, line.to_owned())
    });
    lines.collect()
}

/// Returns a part of a line in its style.
pub(crate) fn painted(theme: Theme, style: Option<Style>, part: String) -> String {
    match style {
        Some(style) => paint(theme, style, &part),
        None => part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_a_difference_have_styles() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn x\n same\n--- old\n+++ new\nnew file: y";
        let styles: Vec<_> = styled_lines(text)
            .into_iter()
            .map(|(style, _)| style)
            .collect();
        let (bold, good, bad) = (Some(Style::Bold), Some(Style::Good), Some(Style::Bad));
        let dim = Some(Style::Dim);
        assert_eq!(styles, [bold, bold, bold, dim, None, bad, good, None]);
        let other = styled_lines("+ a list\n- another one");
        assert!(other.iter().all(|(style, _)| style.is_none()));
    }
}
