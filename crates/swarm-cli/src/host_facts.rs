//! Information about the machine, the checkout and the program for the agents of this process.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use swarm_agent::{HostFacts, ProgramDocs, ProgramPage};
use swarm_config::Environment;
use swarm_worktree::{GitSummary, Worktrees};

use crate::own_process::VERSION;

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

macro_rules! page {
    ($name:literal, $about:literal) => {
        ProgramPage {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../docs/", $name)),
        }
    };
}

/// The pages for users.
const PROGRAM_DOCS: ProgramDocs = ProgramDocs {
    version: VERSION,
    pages: &[
        page!(
            "guide.md",
            "the user guide: models, teams, tasks, permissions, hooks, settings, worktrees, MCP servers, troubleshooting"
        ),
        page!(
            "formats.md",
            "reference of files, settings, agent definitions, hooks, tools and exit codes, with the differences from Claude Code"
        ),
        page!(
            "interop.md",
            "Claude Code, ACP agents and MCP clients as members and leads"
        ),
        page!("glossary.md", "terms"),
        page!("scenarios.md", "scenario files, which play a model"),
    ],
};
