//! What the program that starts a teammate gives it.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use swarm_agent::{AgentRuntime, HostFacts, Isolator, ModelFactory};
use swarm_model::Model;
use swarm_protocol::{BackendType, Clock, PaneId, WorktreeReport};
use swarm_store::blocking::TeamStore;
use swarm_team::{SpawnOrder, WorkMerger};
use swarm_ui::{PaneInput, WidthSource};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

/// Facts about the running process.
#[derive(Debug, Clone)]
pub struct ProcessFacts {
    /// Its PID.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start: String,
    /// Name of the machine.
    pub host: String,
    /// Host and pid namespace, `host#pid:[inode]`.
    pub pid_space: String,
    /// The machine, for the system prompt.
    pub machine: HostFacts,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The worktree that it runs in, where its order names one.
    pub worktree: Option<WorktreeReport>,
    /// The pane it runs in.
    pub pane: Option<PaneId>,
    /// The backend that runs it.
    pub backend: BackendType,
    /// Version of the program.
    pub version: String,
}

/// Everything that a teammate works with.
pub struct TeammateParts {
    /// Its order.
    pub order: SpawnOrder,
    /// The config directory.
    pub root: PathBuf,
    /// The user's home directory, for rules that begin with `~/`.
    pub home: Option<PathBuf>,
    /// The team's files.
    pub store: Arc<dyn TeamStore>,
    /// Time for frames.
    pub clock: Arc<dyn Clock>,
    /// What answers in its conversation.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Creates the models of its sub-agents.
    pub models: Arc<dyn ModelFactory>,
    /// Facts about this process.
    pub process: ProcessFacts,
    /// Merges its work when it completes a task.
    pub merger: Option<Arc<dyn WorkMerger>>,
    /// Creates worktrees for isolated sub-agents.
    pub isolator: Option<Arc<dyn Isolator>>,
    /// Where the pane is drawn.
    pub screen: Box<dyn Write + Send>,
    /// Width of the pane at any moment, in cells.
    pub width: WidthSource,
    /// Input of a person in the pane; `None` without a terminal.
    pub person: Option<UnboundedReceiver<PaneInput>>,
    /// Set when the process is told to stop.
    pub terminate: Termination,
}

impl fmt::Debug for TeammateParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeammateParts")
            .field("agent", &self.order.agent)
            .field("spawn_id", &self.order.spawn_id)
            .finish_non_exhaustive()
    }
}

/// The cause that is reported where none was given.
const UNNAMED: &str = "its process was told to stop";

/// Tells a teammate's process to stop. The first cause counts.
#[derive(Debug, Clone, Default)]
pub struct Termination {
    token: CancellationToken,
    cause: Arc<OnceLock<&'static str>>,
}

impl Termination {
    /// Tells the teammate to stop. `cause` is a clause such as `its pane is gone`.
    pub fn tell(&self, cause: &'static str) {
        self.cause.get_or_init(|| cause);
        self.token.cancel();
    }

    /// Cancelled when the teammate is told to stop.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why it was told to stop.
    pub(crate) fn cause(&self) -> &'static str {
        self.cause.get().copied().unwrap_or(UNNAMED)
    }
}
