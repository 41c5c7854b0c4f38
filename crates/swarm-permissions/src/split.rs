//! Splits texts at separators outside of brackets.

/// Splits a text at separators that are not between `brackets`, an opening and a closing one.
pub(crate) fn split_outside(
    brackets: [char; 2],
    text: &str,
    is_separator: impl Fn(char) -> bool,
) -> impl Iterator<Item = &str> {
    let [open, close] = brackets;
    let mut depth = 0_usize;
    text.split(move |c: char| {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && is_separator(c)
    })
}
