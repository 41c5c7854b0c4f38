//! Errors of texts that have no meaning as a value of a type.

/// A text that is not a value of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {expected}", .text.escape_debug())]
pub struct InvalidText {
    text: String,
    /// What it should be, and which texts are valid.
    expected: &'static str,
}

impl InvalidText {
    /// Creates the error of a text. `expected` ends the message "`TEXT` is not …".
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            expected,
        }
    }
}
