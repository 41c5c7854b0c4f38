//! Report of a world after a failed test.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::world::World;

/// Maximum number of characters shown of a file.
const SHOWN: usize = 4000;

/// Returns processes, ends of files, and the panes of every tmux server.
pub(super) fn report(world: &World) -> String {
    let mut report = format!("The world {}:\n", world.directory().display());
    for (pid, command) in world.processes() {
        // Writing into a String cannot fail.
        let _infallible = writeln!(report, "process {pid}: {command}");
    }
    let mut directories = vec![world.root(), world.directory().join("out")];
    while let Some(directory) = directories.pop() {
        for path in sorted(&directory) {
            if path.is_dir() {
                directories.push(path);
            } else if path.is_file() {
                let shown = end_of(&path);
                let path = path.strip_prefix(world.directory()).unwrap_or(&path);
                let _infallible = writeln!(report, "=== {}\n{shown}", path.display());
            }
        }
    }
    let user = world.tmux_at(&world.directory().join("user.sock"));
    for tmux in world.own_servers().into_iter().chain([user]) {
        report.push_str(&tmux.picture());
    }
    report
}

/// Returns the sorted paths in a directory; empty if it cannot be read.
pub(super) fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the end of a file as text.
fn end_of(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let skipped = text.chars().count().saturating_sub(SHOWN);
    text.chars().skip(skipped).collect()
}
