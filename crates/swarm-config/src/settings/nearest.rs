//! What was probably meant.

use super::keys::KEYS;

/// How alike two words must be for one to be offered in place of the other.
const ALIKE: f64 = 0.85;

/// The setting that a wrong name is nearest to.
pub(super) fn nearest_key(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let wrong = last(name);
    // The right key in the wrong table, or in none, is offered before names that only look alike.
    let same_key = KEYS.iter().find(|key| last(key.name) == wrong);
    same_key
        .map(|key| key.name)
        .or_else(|| most_alike(name, KEYS.iter().map(|key| key.name)))
}

/// The table that a wrong name is nearest to.
pub(super) fn nearest_table(name: &str) -> Option<&'static str> {
    let tables = KEYS.iter().filter_map(|key| key.name.split('.').next());
    most_alike(name, tables)
}

fn most_alike<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::jaro_winkler(wrong, name), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}
