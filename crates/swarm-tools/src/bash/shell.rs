//! The directory of an agent's shell, which persists between calls.

use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

/// Where the next command of one agent's shell starts: its working directory at first.
///
/// The directory is settled before a command is judged ([`AgentShell::directory`]), and the command runs there or not at
/// all: what was allowed in one directory is never run in another.
#[derive(Debug, Default)]
pub struct AgentShell {
    place: Mutex<Place>,
}

#[derive(Debug, Clone, Default)]
struct Place {
    /// Where commands have moved, and the working directory of the agent at that time.
    moved: Option<Moved>,
    /// The directories besides the working directory in which commands may start.
    allowed: Vec<PathBuf>,
    /// What the next result has to say.
    notice: Option<String>,
}

#[derive(Debug, Clone)]
struct Moved {
    from: PathBuf,
    to: PathBuf,
}

impl AgentShell {
    /// The shell of another agent. One that carries on the same conversation `stays` where this shell is.
    #[must_use]
    pub fn of_another(&self, stays: bool) -> Self {
        let place = stays.then(|| self.lock().clone());
        Self {
            place: Mutex::new(place.unwrap_or_default()),
        }
    }

    /// Where the next command starts, for an agent with the working directory `home` and further directories `allowed`.
    /// A directory that is gone, leads elsewhere or is not allowed any more is given up, and the result of the next command
    /// says so.
    pub fn directory(&self, home: &Path, allowed: &[PathBuf]) -> PathBuf {
        let mut place = self.lock();
        if place.allowed != allowed {
            place.allowed = allowed.to_vec();
        }
        let Some(Moved { from, to }) = place.moved.clone() else {
            return home.to_owned();
        };
        if from == home && is_itself(&to) && is_within(&to, home, allowed) {
            return to;
        }
        place.moved = None;
        place.notice = Some(was_reset(home));
        home.to_owned()
    }

    /// The directory in which a command was judged. The error says that it is another one by now.
    pub(super) fn judged(&self, home: &Path) -> Result<PathBuf, String> {
        let mut place = self.lock();
        let moved = place.moved.take_if(|moved| moved.from != home);
        if moved.is_some() {
            place.notice = Some(was_reset(home));
        }
        let Some(Moved { to, .. }) = place.moved.clone() else {
            return Ok(home.to_owned());
        };
        if is_itself(&to) {
            return Ok(to);
        }
        place.moved = None;
        Err(format!(
            "The command was not run: the directory {} of the shell no longer exists. {}",
            to.display(),
            was_reset(home)
        ))
    }

    /// Notes where a command has ended. The result says if the next one starts elsewhere.
    pub(super) fn ended_in(&self, directory: &Path, home: &Path) {
        let mut place = self.lock();
        let to = directory.to_owned();
        place.moved = None;
        if to == home {
            return;
        }
        if is_itself(&to) && is_within(&to, home, &place.allowed) {
            let from = home.to_owned();
            place.moved = Some(Moved { from, to });
        } else {
            place.notice = Some(was_reset(home));
        }
    }

    /// What a result has to say of the directory.
    pub(super) fn take_notice(&self) -> Option<String> {
        self.lock().notice.take()
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock()
    }
}

/// In Claude Code's words, which models know.
fn was_reset(home: &Path) -> String {
    format!("Shell cwd was reset to {}", home.display())
}

/// Whether this is a directory whose path has no symbolic link in it.
fn is_itself(directory: &Path) -> bool {
    let real = directory.canonicalize();
    real.is_ok_and(|real| real == directory && real.is_dir())
}

fn is_within(directory: &Path, home: &Path, allowed: &[PathBuf]) -> bool {
    let below = |root: &Path| directory.starts_with(root);
    let real = |root: &PathBuf| root.canonicalize().is_ok_and(|real| below(&real));
    below(home) || allowed.iter().any(real)
}
