//! Display width of text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the width of a text without control characters, in columns.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.width()
}

/// Truncates text to `limit` columns, with an ellipsis at its end if it was truncated.
pub(crate) fn fit(text: &str, limit: usize) -> String {
    match limit.checked_sub(1) {
        Some(room) if columns(text) > limit => cut(text, room) + "…",
        _ => cut(text, limit),
    }
}

/// Truncates text to `limit` columns, with an ellipsis in its middle if it was truncated: a third of
/// the rest is the beginning.
pub(crate) fn fit_middle(text: &str, limit: usize) -> String {
    let Some(room) = limit.checked_sub(1).filter(|_| columns(text) > limit) else {
        return cut(text, limit);
    };
    let begin = cut(text, room / 3);
    let room = room - columns(&begin);
    let mut starts = text.char_indices().map(|(at, _)| at);
    let start = starts.find(|start| columns(&text[*start..]) <= room);
    format!("{begin}…{}", &text[start.unwrap_or(text.len())..])
}

/// Truncates text to `limit` columns.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if columns(text) <= limit {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends
        .take_while(|end| columns(&text[..*end]) <= limit)
        .last()
        .unwrap_or(0);
    text[..end].trim_end().to_owned()
}

/// Returns whether a line may be wrapped after this character: wide scripts are written without
/// spaces.
pub(crate) fn breaks_after(c: char) -> bool {
    c.width() == Some(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_truncated_text_fits_and_ends_in_an_ellipsis() {
        assert_eq!(fit("hello world", 11), "hello world");
        assert_eq!(fit("hello world", 7), "hello…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("hello", 0), "");
    }

    #[test]
    fn a_text_truncated_in_its_middle_keeps_both_ends() {
        assert_eq!(
            fit_middle("/home/ada/hooks/guard", 21),
            "/home/ada/hooks/guard"
        );
        assert_eq!(fit_middle("/home/ada/hooks/guard", 16), "/home…ooks/guard");
        assert_eq!(fit_middle("日本語日本語", 6), "…本語");
        assert_eq!(fit_middle("hello", 1), "…");
        assert_eq!(fit_middle("hello", 0), "");
    }

    proptest! {
        #[test]
        fn a_truncated_text_never_exceeds_the_limit(text in "\\PC{0,30}", limit in 0_usize..20) {
            prop_assert!(columns(&fit(&text, limit)) <= limit);
            prop_assert!(columns(&fit_middle(&text, limit)) <= limit);
        }
    }
}
