//! Converts terminal output to what was displayed: without title sequences, and with only the final
//! state of overwritten lines such as progress bars.

use std::borrow::Cow;

/// Maximum length of a title sequence; longer ones are kept as text.
pub(super) const LONGEST_TITLE: usize = 512;

/// Returns the displayed text. Colors are kept; other control sequences are removed when the text
/// is printed.
pub(super) fn seen(text: &str) -> String {
    let text = without_titles(text);
    let mut lines = text.split('\n').map(last_state);
    let first = lines.next().unwrap_or_default().into_owned();
    lines.fold(first, |mut all, line| {
        all.push('\n');
        all.push_str(&line);
        all
    })
}

fn without_titles(text: &str) -> Cow<'_, str> {
    if !text.contains("\u{1b}]") {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}]") {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = title_length(rest).unwrap_or(1);
        if length == 1 {
            kept.push('\u{1b}');
        }
        rest = &rest[length..];
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Returns the length of a title sequence at the start of `text`: `ESC ]`, a digit from 0 to 2,
/// `;`, text of one line, and BEL or `ESC \`.
fn title_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\u{1b}]")?;
    let title = body.strip_prefix(['0', '1', '2'])?.strip_prefix(';')?;
    let end = title.find(char::is_control)?;
    let tail = &title[end..];
    let closing = ["\u{7}", "\u{1b}\\"]
        .into_iter()
        .find(|closing| tail.starts_with(closing))?;
    let length = text.len() - tail.len() + closing.len();
    (length <= LONGEST_TITLE).then_some(length)
}

/// Returns the final state of a line that was overwritten after a carriage return.
fn last_state(line: &str) -> Cow<'_, str> {
    let ended = line.strip_suffix('\r').unwrap_or(line);
    let last = ended.rsplit('\r').find(|state| !state.is_empty());
    Cow::Borrowed(last.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn titles_are_removed_and_progress_bars_show_their_final_state() {
        for (given, shown) in [
            ("a\u{1b}]2;bob · idle\u{7}b\r\nc", "ab\nc"),
            ("a\u{1b}]0;t\u{1b}\\b", "ab"),
            ("10%\r20%\r100%\r\ndone\r\n", "100%\ndone\n"),
            ("10%\r20%\r", "20%"),
            ("\u{1b}[31mred\u{1b}[0m", "\u{1b}[31mred\u{1b}[0m"),
            // Not a title, unterminated, or containing other sequences.
            ("\u{1b}]52;c;x\u{7}", "\u{1b}]52;c;x\u{7}"),
            ("\u{1b}]2;never ended", "\u{1b}]2;never ended"),
            ("\u{1b}]2;two\nlines\u{7}", "\u{1b}]2;two\nlines\u{7}"),
            ("", ""),
        ] {
            assert_eq!(seen(given), shown, "{given:?}");
        }
        let long = format!("\u{1b}]2;{}\u{7}", "x".repeat(LONGEST_TITLE));
        assert_eq!(seen(&long), long);
    }

    proptest! {
        #[test]
        fn text_without_control_sequences_is_unchanged(text in "[a-zäöü平均😀 \n]{0,60}") {
            prop_assert_eq!(seen(&text), text);
        }
    }
}
