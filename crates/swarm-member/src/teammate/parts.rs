//! What a teammate is given by the program that starts it.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_engine::{AgentRuntime, Isolator, ModelFactory};
use swarm_model::Model;
use swarm_protocol::{BackendType, Clock, PaneId, WorktreeReport};
use swarm_store::TeamStore;
use swarm_team::{SpawnOrder, WorkMerger};
use swarm_ui::{PaneInput, WidthSource};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::teammate::termination::Termination;

/// Facts of the running process.
#[derive(Debug, Clone)]
pub struct ProcessFacts {
    /// Its pid.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start: String,
    /// Name of the machine.
    pub host: String,
    /// Host and pid namespace, `host#pid:[inode]`.
    pub pid_space: String,
    /// Name of the operating system, for the system prompt.
    pub platform: String,
    /// Its working folder.
    pub cwd: PathBuf,
    /// The work tree that it finds itself in, where it was ordered to have one of its own.
    pub worktree: Option<WorktreeReport>,
    /// The pane it runs in.
    pub pane: Option<PaneId>,
    /// What holds it.
    pub backend: BackendType,
    /// Version of the program.
    pub version: String,
}

/// Everything a teammate works with.
pub struct TeammateParts {
    /// What it was told.
    pub order: SpawnOrder,
    /// The root of all state.
    pub root: PathBuf,
    /// The user's home folder, for rules that begin with `~/`.
    pub home: Option<PathBuf>,
    /// The one owner of the team's files.
    pub store: Arc<dyn TeamStore>,
    /// Time for frames.
    pub clock: Arc<dyn Clock>,
    /// What answers in its conversation.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Makes the models of its sub-agents.
    pub models: Arc<dyn ModelFactory>,
    /// Facts of this process.
    pub process: ProcessFacts,
    /// Who merges its work when it completes a task.
    pub merger: Option<Arc<dyn WorkMerger>>,
    /// Who makes the folders of its sub-agents that work in one of their own.
    pub isolator: Option<Arc<dyn Isolator>>,
    /// Where the pane is drawn.
    pub screen: Box<dyn Write + Send>,
    /// Width of the pane at any moment, in cells.
    pub width: WidthSource,
    /// What a person types into the pane; none where there is no terminal.
    pub person: Option<UnboundedReceiver<PaneInput>>,
    /// Set when the process is told to end.
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
