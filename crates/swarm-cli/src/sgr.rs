//! Sanitizes members' output so that only colors reach the terminal.

/// Returns the text with its color sequences and without other control sequences. Colors are reset
/// at the end.
pub(crate) fn colored(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut plain = 0;
    let mut at = 0;
    let mut is_colored = false;
    while let Some(found) = text[at..].find('\u{1b}') {
        let start = at + found;
        match sgr_length(&text[start..]) {
            Some(length) => {
                clean += &swarm_ui::clean_text(&text[plain..start]);
                clean += &text[start..start + length];
                is_colored = true;
                at = start + length;
                plain = at;
            }
            None => at = start + 1,
        }
    }
    clean += &swarm_ui::clean_text(&text[plain..]);
    if is_colored {
        clean += "\u{1b}[0m";
    }
    clean
}

/// Returns the text without color sequences. Other control sequences are escaped.
pub(crate) fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        plain += &rest[..start];
        let length = sgr_length(&rest[start..]);
        if length.is_none() {
            plain.push('\u{1b}');
        }
        rest = &rest[start + length.unwrap_or(1)..];
    }
    plain += rest;
    swarm_ui::clean_line(&plain)
}

/// Returns the length of an SGR sequence at the start of `text`: `ESC [`, parameters, `m`.
fn sgr_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\u{1b}[")?;
    let parameters = body
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'))
        .count();
    (body.as_bytes().get(parameters) == Some(&b'm')).then_some(parameters + 3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colors_are_kept_and_other_sequences_are_escaped() {
        let given = "\u{1b}[1;31mred\u{1b}[0m\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}\u{1b}[32mgreen";
        assert_eq!(
            colored(given),
            "\u{1b}[1;31mred\u{1b}[0m␛]0;t␇␛\u{1b}[32mgreen\u{1b}[0m"
        );
        assert_eq!(colored("plain\n\ttext"), "plain\n\ttext");
        let line = without_colors("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2Jgreen");
        assert_eq!(line, swarm_ui::clean_line("red \u{1b}[2Jgreen"));
    }

    proptest! {
        #[test]
        fn every_remaining_escape_sets_a_color(text in "(\\x1b|\\[|\\]|[0-9;:]|m|J|\\x07|\\PC){0,40}") {
            let clean = colored(&text);
            for (at, _) in clean.match_indices('\u{1b}') {
                prop_assert!(sgr_length(&clean[at..]).is_some(), "{clean:?}");
            }
            let rings = clean.contains('\u{7}');
            prop_assert!(!rings);
        }
    }
}
