//! Suggestions for misspelled names.

use swarm_permissions::nearest;

use super::keys::KEYS;

pub(super) fn nearest_key(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let wrong = last(name);
    // The correct key in a wrong or missing table is preferred over similar names.
    let same_key = KEYS.iter().find(|key| last(key.name) == wrong);
    same_key
        .map(|key| key.name)
        .or_else(|| nearest(name, KEYS.iter().map(|key| key.name)))
}

pub(super) fn nearest_table(name: &str) -> Option<&'static str> {
    let tables = KEYS.iter().filter_map(|key| key.name.split('.').next());
    nearest(name, tables)
}
