//! Where settings are read from.

use std::path::{Path, PathBuf};

use swarm_os::repository_top;

/// Directory of the machine's own settings.
const SYSTEM: &str = "/etc/swarm";

/// Name of a file of settings.
const FILE: &str = "swarm.toml";

/// The files that settings are read from. They are fixed in the program but for the config directory and the present one: a
/// variable that named others would let whoever sets it leave the machine's policy.
#[derive(Debug, Clone)]
pub struct Places {
    /// The machine's settings.
    pub(super) system: PathBuf,
    /// The machine's policy.
    pub(super) managed: PathBuf,
    /// The user's settings.
    pub(super) user: PathBuf,
    /// The repository's settings, if there are any.
    pub(super) project: Option<PathBuf>,
}

impl Places {
    /// The places for a command that runs in `cwd`.
    pub fn new(root: &Path, cwd: &Path) -> Self {
        Self::below(Path::new(SYSTEM), root, cwd)
    }

    /// The places where the machine's files are in `system`.
    pub(super) fn below(system: &Path, root: &Path, cwd: &Path) -> Self {
        let user = root.join(FILE);
        Self {
            system: system.join(FILE),
            managed: system.join("managed.toml"),
            project: project_file(cwd, &user),
            user,
        }
    }
}

/// The directories in which a project speaks of itself: from `cwd` up to the top of its repository, nearest first. Outside of a
/// repository only `cwd`, since whatever is above may be somebody else's.
pub fn repository_directories(cwd: &Path) -> impl Iterator<Item = &Path> {
    let top = repository_top(cwd);
    cwd.ancestors()
        .take_while(move |directory| directory.starts_with(top))
}

/// The nearest `.claude/swarm.toml` from `cwd` upward within the repository; outside of one only in `cwd` itself.
fn project_file(cwd: &Path, user: &Path) -> Option<PathBuf> {
    // The config directory can be that of a repository in the home directory; its file is the user's all the same.
    let is_user = |path: &PathBuf| match (path.canonicalize(), user.canonicalize()) {
        (Ok(path), Ok(user)) => path == user,
        _ => false,
    };
    repository_directories(cwd)
        .map(|directory| directory.join(".claude").join(FILE))
        .find(|path| path.exists() && !is_user(path))
}
