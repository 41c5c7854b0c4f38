//! Which of the names that there are was probably meant.

/// How alike two names must be for one to be offered in place of the other.
const ALIKE: f64 = 0.8;

/// The known name that a wrong one is nearest to, in whatever case it was typed.
pub(crate) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    known
        .into_iter()
        .map(|name| (alike(&wrong, &name.to_lowercase()), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// Short names with one slip are less alike than they look.
fn alike(one: &str, other: &str) -> f64 {
    let alike = strsim::jaro_winkler(one, other);
    let is_slip = one.len() > 2 && strsim::damerau_levenshtein(one, other) == 1;
    if is_slip { alike.max(ALIKE) } else { alike }
}

/// What to say of a name that there is not: the one that was probably meant before all there are, if any.
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
    fn slips_find_the_name_that_was_meant_and_other_names_find_none() {
        let known = ["team-lead", "bob", "evelyn"];
        for (wrong, meant) in [
            ("Bob", Some("bob")),
            ("bbo", Some("bob")),
            ("evelin", Some("evelyn")),
            ("teamlead", Some("team-lead")),
            ("nobody", None),
            ("x", None),
        ] {
            assert_eq!(nearest(wrong, known), meant, "{wrong}");
        }
        assert_eq!(
            offer("Bob", "members", ["ann", "bob"]),
            "did you mean `bob`? members: ann, bob"
        );
        assert_eq!(offer("x", "members", ["ann"]), "members: ann");
    }
}
