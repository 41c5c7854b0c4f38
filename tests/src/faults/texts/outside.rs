//! Paths that commands must not change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::stage::World;

/// Returns every path of a world outside the directories of state, worktrees and sockets.
pub(super) fn outside(world: &World) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    collect(world.directory(), world.directory(), &mut found);
    found
}

fn collect(directory: &Path, top: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let below = path.strip_prefix(top).unwrap_or(&path).to_owned();
        if !may_change(&below) {
            if path.is_dir() && !path.is_symlink() {
                collect(&path, top, found);
            }
            found.insert(below);
        }
    }
}

/// Returns whether programs may change what is below this path. Entries directly in the config
/// directory are checked: a name that escapes its directory would be there.
fn may_change(below: &Path) -> bool {
    let places = [
        "out",
        "tmp",
        "sockets",
        "user.sock",
        "project/.git",
        "project/.claude",
        "project/odd",
        "root/agents",
        "root/swarm",
        "root/teams",
        "root/tasks",
        "root/projects",
        "root/scratchpad",
    ];
    places.iter().any(|place| below.starts_with(place))
}

/// Asserts that state directories contain only valid names.
#[track_caller]
pub(super) fn assert_names_are_names(world: &World, teams: &[&str]) {
    let entries = |directory: PathBuf| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .filter(|name| !name.starts_with('.'))
            .collect::<Vec<_>>()
    };
    for place in ["teams", "tasks", "scratchpad"] {
        for name in entries(world.root().join(place)) {
            assert!(teams.contains(&name.as_str()), "{place} has {name:?}");
        }
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    for name in entries(world.root().join("projects")) {
        assert!(name.chars().all(plain), "projects has {name:?}");
    }
}
