//! Working directory and sandbox of an agent's shell, which persist between calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::sandbox::{HostResolver, HostSlot};

/// Directory in which the agent's next shell command starts; initially its working directory.
///
/// The directory is determined before the permission check ([`AgentShell::directory`]), and the
/// command runs there or not at all: a command that was allowed in one directory never runs in
/// another.
#[derive(Debug, Default)]
pub struct AgentShell {
    state: Mutex<ShellState>,
    /// The namespaces of its commands.
    sandbox: HostSlot,
}

#[derive(Debug, Clone, Default)]
struct ShellState {
    /// The directory that commands have changed to, and the agent's working directory at that time.
    moved: Option<Moved>,
    /// Directories outside the working directory in which commands may start.
    allowed: Vec<PathBuf>,
    /// Notice for the next result.
    notice: Option<String>,
}

#[derive(Debug, Clone)]
struct Moved {
    from: PathBuf,
    to: PathBuf,
}

impl AgentShell {
    /// Creates the shell of another agent. With `keeps_directory`, for an agent that continues the same
    /// conversation, it keeps the directory of this shell.
    #[must_use]
    pub fn for_other_agent(&self, keeps_directory: bool) -> Self {
        let state = keeps_directory.then(|| self.lock().clone());
        Self {
            state: Mutex::new(state.unwrap_or_default()),
            sandbox: HostSlot::default(),
        }
    }

    /// Creates a shell whose commands reach hosts that `resolver` resolves, instead of this machine.
    pub fn with_resolver(resolver: Arc<dyn HostResolver>) -> Self {
        Self {
            state: Mutex::default(),
            sandbox: HostSlot::with_resolver(resolver),
        }
    }

    pub(crate) fn sandbox(&self) -> &HostSlot {
        &self.sandbox
    }

    /// Returns the directory of the next command, for an agent with the working directory `home`
    /// and the additional directories `allowed`. If the directory no longer exists, has become a
    /// symbolic link or is no longer allowed, it is reset to `home`, and the result of the next
    /// command says so.
    pub fn directory(&self, home: &Path, allowed: &[PathBuf]) -> PathBuf {
        let mut state = self.lock();
        if state.allowed != allowed {
            state.allowed = allowed.to_vec();
        }
        let Some(Moved { from, to }) = state.moved.clone() else {
            return home.to_owned();
        };
        if from == home && is_real_directory(&to) && is_within(&to, home, allowed) {
            return to;
        }
        state.moved = None;
        state.notice = Some(reset_notice(home));
        home.to_owned()
    }

    /// Returns the directory for which the command was permitted. Fails if it no longer exists.
    pub(super) fn permitted_directory(&self, home: &Path) -> Result<PathBuf, String> {
        let mut state = self.lock();
        let moved = state.moved.take_if(|moved| moved.from != home);
        if moved.is_some() {
            state.notice = Some(reset_notice(home));
        }
        let Some(Moved { to, .. }) = state.moved.clone() else {
            return Ok(home.to_owned());
        };
        if is_real_directory(&to) {
            return Ok(to);
        }
        state.moved = None;
        Err(format!(
            "The command was not run: the directory {} of the shell no longer exists. {}",
            to.display(),
            reset_notice(home)
        ))
    }

    /// Records the final directory of a command. If the next command cannot start there, the result
    /// says so.
    pub(super) fn record_directory(&self, directory: &Path, home: &Path) {
        let mut state = self.lock();
        let to = directory.to_owned();
        state.moved = None;
        if to == home {
            return;
        }
        if is_real_directory(&to) && is_within(&to, home, &state.allowed) {
            let from = home.to_owned();
            state.moved = Some(Moved { from, to });
        } else {
            state.notice = Some(reset_notice(home));
        }
    }

    pub(super) fn take_notice(&self) -> Option<String> {
        self.lock().notice.take()
    }

    fn lock(&self) -> MutexGuard<'_, ShellState> {
        self.state.lock()
    }
}

/// Formats the notice as Claude Code does, because models know it.
fn reset_notice(home: &Path) -> String {
    format!("Shell cwd was reset to {}", home.display())
}

/// Whether this is a directory whose path contains no symbolic link.
fn is_real_directory(directory: &Path) -> bool {
    let real = directory.canonicalize();
    real.is_ok_and(|real| real == directory && real.is_dir())
}

fn is_within(directory: &Path, home: &Path, allowed: &[PathBuf]) -> bool {
    let below = |root: &Path| directory.starts_with(root);
    let real = |root: &PathBuf| root.canonicalize().is_ok_and(|real| below(&real));
    below(home) || allowed.iter().any(real)
}
