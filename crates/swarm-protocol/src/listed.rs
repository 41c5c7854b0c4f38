//! Lists in sentences.

use std::fmt::Display;

/// Formats items as `a, b, c`.
pub fn with_commas<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// Formats words as `a, b or c`, with this conjunction.
pub fn with_conjunction(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} {conjunction} {last}", rest.join(", ")),
    }
}
