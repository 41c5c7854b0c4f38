//! Inputs for starting a teammate.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use swarm_agent::{EventSink, HostFacts, WorktreeIsolator};
use swarm_os::LockInterrupt;
use swarm_protocol::{BackendType, Clock, LifeKind, PaneId, WorktreeReport, partial_debug};
use swarm_store::TeamStore;
use swarm_supervisor::ProcessIdentity;
use swarm_team::{SpawnOrder, WorkMerger};
use swarm_ui::{Linker, PaneInput, WidthSource};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::assemble::ModelServices;

/// Facts about the running process.
#[derive(Debug, Clone)]
pub struct ProcessFacts {
    /// Its identity.
    pub identity: ProcessIdentity,
    /// Description of the machine, for the system prompt.
    pub machine: HostFacts,
    /// Working directory.
    pub cwd: PathBuf,
    /// The worktree that it runs in, if its order has one.
    pub worktree: Option<WorktreeReport>,
    /// The pane it runs in.
    pub pane: Option<PaneId>,
    /// The backend that runs it.
    pub backend: BackendType,
    /// Version of the program.
    pub version: String,
}

impl ProcessFacts {
    /// Returns whether the process is the member's own.
    pub(crate) fn life_kind(&self) -> LifeKind {
        match self.backend {
            BackendType::InProcess => LifeKind::Task,
            _ => LifeKind::Process,
        }
    }
}

/// Inputs for a teammate.
pub struct TeammateParts {
    /// The spawn order.
    pub order: SpawnOrder,
    /// The config directory.
    pub root: PathBuf,
    /// The user's home directory, for rules that begin with `~/`.
    pub home: Option<PathBuf>,
    /// The team's files.
    pub store: Arc<dyn TeamStore>,
    /// Clock for frames.
    pub clock: Arc<dyn Clock>,
    /// What responds in its turns.
    pub services: ModelServices,
    /// Facts about this process.
    pub process: ProcessFacts,
    /// Merges its work when it completes a task.
    pub merger: Option<Arc<dyn WorkMerger>>,
    /// Creates worktrees for isolated sub-agents.
    pub isolator: Option<WorktreeIsolator>,
    /// Its pane.
    pub pane: TeammatePane,
    /// Input of a person in the pane; `None` without a terminal.
    pub person: Option<UnboundedReceiver<PaneInput>>,
    /// Set when the process is asked to stop.
    pub terminate: Termination,
}

/// Output of a teammate.
pub struct TeammatePane {
    /// Its pane or file.
    pub screen: Box<dyn Write + Send>,
    /// Current width, in cells.
    pub width: WidthSource,
    /// Links in the agent's text, if the pane opens them.
    pub links: Option<Linker>,
    /// The status row, which follows the events.
    pub status: Option<Arc<dyn EventSink>>,
}

impl TeammatePane {
    /// Creates one that is only written to.
    pub fn plain(screen: Box<dyn Write + Send>) -> Self {
        Self {
            screen,
            width: Box::new(|| None),
            links: None,
            status: None,
        }
    }
}

partial_debug!(TeammatePane);
partial_debug!(TeammateParts: order = order);

/// The default cause.
const UNNAMED: &str = "its process was told to stop";

/// Tells a teammate's process to stop. The first cause is kept.
#[derive(Debug, Clone, Default)]
pub struct Termination {
    token: CancellationToken,
    cause: Arc<OnceLock<&'static str>>,
    lock_interrupt: LockInterrupt,
}

impl Termination {
    /// Tells the teammate to stop. `cause` is a clause such as `its pane is gone`.
    pub fn tell(&self, cause: &'static str) {
        self.cause.get_or_init(|| cause);
        self.token.cancel();
        self.lock_interrupt.interrupt();
    }

    /// Ends waits for locks when the teammate is asked to stop.
    pub(crate) fn lock_interrupt(&self) -> &LockInterrupt {
        &self.lock_interrupt
    }

    /// Cancelled when the teammate is asked to stop.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why it was asked to stop.
    pub(crate) fn cause(&self) -> &'static str {
        self.cause.get().copied().unwrap_or(UNNAMED)
    }
}
