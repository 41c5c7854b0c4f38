//! Processes that bear the mark of a spawn.

use std::path::Path;

use swarm_protocol::{ROOT_VARIABLE, SPAWN_MARK};
use swarm_tools::processes::Target;

/// All processes of one spawn of the teams below a root folder. Those of another root bear the same mark where that root, or this one,
/// is a copy; they are not meant.
pub fn processes_of_spawn(root: &Path, spawn: &str) -> Target {
    Target {
        env: Some((SPAWN_MARK.to_owned(), spawn.to_owned())),
        home: Some((ROOT_VARIABLE.to_owned(), root.to_owned())),
        ..Target::default()
    }
}
