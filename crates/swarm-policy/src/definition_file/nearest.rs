//! Which known word a wrong one was probably meant to be.

/// Wrong letters at most.
const LETTERS: usize = 2;

/// The known word that differs by case, separators or a slip of the finger.
pub(super) fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let wrong = folded(wrong);
    known
        .iter()
        .map(|word| (distance(&wrong, &folded(word)), *word))
        .filter(|(letters, word)| *letters <= LETTERS && *letters * 3 <= word.len())
        .min()
        .map(|(_, word)| word)
}

fn folded(word: &str) -> Vec<char> {
    word.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Letters to be added, dropped or changed.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_words() {
        let known = ["tools", "disallowedTools", "maxTurns", "color"];
        for (wrong, meant) in [
            ("disallowed_tools", Some("disallowedTools")),
            ("max-turns", Some("maxTurns")),
            ("colour", Some("color")),
            ("tool", Some("tools")),
            ("category", None),
            ("author", None),
        ] {
            assert_eq!(nearest(wrong, &known), meant, "{wrong}");
        }
    }
}
