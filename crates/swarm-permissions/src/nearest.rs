//! Suggestions for misspelled words.

/// Maximum edit distance.
const LETTERS: usize = 2;

/// Returns the known word that differs only in case, separators or a typo: an edit distance (with
/// transpositions) of at most two letters and a third of the word.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = folded(wrong);
    let length = wrong.chars().count();
    known
        .into_iter()
        .map(|word| (folded(word), word))
        // The distance is at least the difference in length, and costs more to compute.
        .filter(|(folded, _)| folded.chars().count().abs_diff(length) <= LETTERS)
        .map(|(folded, word)| (strsim::damerau_levenshtein(&wrong, &folded), word))
        .filter(|(letters, word)| *letters <= LETTERS && *letters * 3 <= word.len())
        .min()
        .map(|(_, word)| word)
}

/// Removes differences in case and separators.
pub(crate) fn folded(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_distinguished_from_other_words() {
        let known = [
            "tools",
            "disallowedTools",
            "maxTurns",
            "color",
            "Grep",
            "bob",
        ];
        for (wrong, meant) in [
            ("Bob", Some("bob")),
            ("bbo", Some("bob")),
            ("disallowed_tools", Some("disallowedTools")),
            ("max-turns", Some("maxTurns")),
            ("colour", Some("color")),
            ("tool", Some("tools")),
            ("Grpe", Some("Grep")),
            ("geep", Some("Grep")),
            ("Gulp", None),
            ("category", None),
            ("author", None),
            ("x", None),
        ] {
            assert_eq!(nearest(wrong, known), meant, "{wrong}");
        }
    }
}
