//! Texts that are cut to a length.

/// Returns the first `most` characters of a text, with an ellipsis if more follow.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
