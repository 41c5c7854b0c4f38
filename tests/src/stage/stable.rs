//! Output without what differs between runs, for snapshots.

use regex::Regex;

use super::world::World;

/// What is replaced, in this order, after the paths of the world.
const VOLATILE: [(&str, &str); 9] = [
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "UUID",
    ),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\dZ]*", "DATE"),
    (
        r"\b\d+(\.\d+)?\s?(ms|s|m|h|d)\b(\s\d+\s?(ms|s|m|h)\b)*",
        "TIME",
    ),
    (r"(\bpid|\bprocess|-CONT) \d+", "$1 PID"),
    (r"%\d+\b", "PANE"),
    (r"\$\d+(\.\d+)?", "COST"),
    (r"\b\d+(\.\d+)?k\b", "COUNT"),
    (r"\b\d+%", "SHARE"),
    // Columns are as wide as their values.
    (r" {2,}", "  "),
];

/// Replaces paths of the world, ids, process ids, dates, durations and token counts by words, and collapses columns.
pub(super) fn stable(world: &World, text: &str) -> String {
    let directory = world.directory().display().to_string();
    let mut text = text.replace(&directory, "WORLD");
    for (pattern, word) in VOLATILE {
        let pattern = Regex::new(pattern).expect("a pattern of the table");
        text = pattern.replace_all(&text, word).into_owned();
    }
    let lines = text.lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}
