//! What was probably meant.

use swarm_permissions::nearest;

use super::keys::KEYS;

/// The setting that a wrong name is nearest to.
pub(super) fn nearest_key(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let wrong = last(name);
    // The right key in the wrong table, or in none, is offered before names that only look alike.
    let same_key = KEYS.iter().find(|key| last(key.name) == wrong);
    same_key
        .map(|key| key.name)
        .or_else(|| nearest(name, KEYS.iter().map(|key| key.name)))
}

/// The table that a wrong name is nearest to.
pub(super) fn nearest_table(name: &str) -> Option<&'static str> {
    let tables = KEYS.iter().filter_map(|key| key.name.split('.').next());
    nearest(name, tables)
}
