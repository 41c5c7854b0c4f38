//! Which known word a wrong one was probably meant to be.

/// Wrong letters at most.
const LETTERS: usize = 2;

/// The known word that differs by case, separators or a slip of the finger.
pub(crate) fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
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

/// Letters to be added, dropped, changed or swapped with the next one.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let above = &rows[i];
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = above[j] + usize::from(a != b);
            let swapped = i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b;
            let swapped = if swapped {
                rows[i - 1][j - 1] + 1
            } else {
                changed
            };
            row.push(changed.min(swapped).min(row[j] + 1).min(above[j + 1] + 1));
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_words() {
        let known = ["tools", "disallowedTools", "maxTurns", "color", "Grep"];
        for (wrong, meant) in [
            ("disallowed_tools", Some("disallowedTools")),
            ("max-turns", Some("maxTurns")),
            ("colour", Some("color")),
            ("tool", Some("tools")),
            ("Grpe", Some("Grep")),
            ("geep", Some("Grep")),
            ("Gulp", None),
            ("category", None),
            ("author", None),
        ] {
            assert_eq!(nearest(wrong, &known), meant, "{wrong}");
        }
    }
}
