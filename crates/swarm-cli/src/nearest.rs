//! Suggestions for misspelled names.

use swarm_permissions::nearest;

/// Returns a hint for an unknown name: the most similar name, if any, and the list of names.
pub(crate) fn offer<'a>(
    wrong: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let list = format!("{what}: {}", known.join(", "));
    match nearest(wrong, known) {
        Some(meant) => format!("did you mean `{meant}`? {list}"),
        None => list,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_similar_name_is_suggested_first() {
        assert_eq!(
            offer("Bob", "members", ["ann", "bob"]),
            "did you mean `bob`? members: ann, bob"
        );
        assert_eq!(offer("x", "members", ["ann"]), "members: ann");
    }
}
