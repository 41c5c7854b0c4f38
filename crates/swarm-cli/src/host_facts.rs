//! Information about the machine and the checkout for the agents of this process.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use swarm_agent::HostFacts;
use swarm_config::Environment;
use swarm_worktree::{GitSummary, Worktrees};

use crate::program_docs::PROGRAM_DOCS;

/// Startup timeout for `git status`, which is slow in very large repositories.
const PATIENCE: Duration = Duration::from_secs(2);

/// Facts that are collected while the process starts.
pub(crate) struct GatheringFacts {
    facts: HostFacts,
    git: Receiver<Option<GitSummary>>,
}

impl GatheringFacts {
    /// Starts to query git about the checkout at `cwd`.
    pub(crate) fn begin(env: &Environment, worktrees: &Worktrees, cwd: PathBuf) -> Self {
        let name = rustix::system::uname();
        let shell = env.get("SHELL").and_then(|path| path.rsplit('/').next());
        let facts = HostFacts {
            platform: std::env::consts::OS.to_owned(),
            os_version: format!(
                "{} {} {}",
                name.sysname().to_string_lossy(),
                name.release().to_string_lossy(),
                name.machine().to_string_lossy()
            ),
            shell: shell.filter(|name| !name.is_empty()).map(str::to_owned),
            git: None,
            docs: PROGRAM_DOCS,
        };
        let (answer, git) = channel();
        let worktrees = worktrees.clone();
        std::thread::spawn(move || {
            // The receiver is gone after the timeout.
            answer.send(worktrees.summary(&cwd)).ok();
        });
        Self { facts, git }
    }

    /// Returns the facts, without git's if it did not respond in time.
    pub(crate) fn wait(self) -> HostFacts {
        let git = self.git.recv_timeout(PATIENCE).ok().flatten();
        HostFacts { git, ..self.facts }
    }
}
