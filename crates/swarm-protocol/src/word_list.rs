//! Tables of words.

/// Splits a text at white space into its `N` words. Call it in a constant or in a `const` block: there
/// a wrong `N` is a compile error.
///
/// # Panics
/// If the text has another number of words.
pub const fn word_list<const N: usize>(text: &'static str) -> [&'static str; N] {
    let bytes = text.as_bytes();
    let mut words = [""; N];
    let (mut found, mut start, mut at) = (0, 0, 0);
    while at <= bytes.len() {
        if at == bytes.len() || bytes[at].is_ascii_whitespace() {
            if start < at {
                words[found] = text.split_at(at).0.split_at(start).1;
                found += 1;
            }
            start = at + 1;
        }
        at += 1;
    }
    assert!(found == N, "the text has fewer words");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_any_white_space() {
        assert_eq!(word_list("\n  a bé\n  --c\n"), ["a", "bé", "--c"]);
        assert_eq!(word_list("a"), ["a"]);
        assert_eq!(word_list::<0>(" "), [""; 0]);
    }
}
