//! The record of a sub-agent, which the process keeps from its first start on.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use swarm_mcp::AgentServers;
use swarm_permissions::HandoffScan;
use swarm_protocol::{SubAgentId, UnixMs, named_enum};
use swarm_tools::{BackgroundCommands, Workplace};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{Parent, SubAgentRequest};
use crate::fork::FORK;
use crate::worktree::IsolatedDirectory;
use crate::{Injected, Totals};

named_enum! {
    /// The state of a sub-agent.
    pub enum SubAgentStatus {
        /// It is running.
        Running = "running",
        /// It ended its turn normally.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was stopped.
        Killed = "killed",
        /// Its parent's turn or its process ended first.
        Interrupted = "interrupted",
    }
}

/// What stopped a sub-agent early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoppedBy {
    /// An agent, by `TaskStop`; a message resumes the sub-agent.
    Agent,
    /// The end of its parent's turn.
    Parent,
    /// The end of the process.
    Process,
    /// The stall limit.
    Stall,
}

/// The part of a record that others can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) status: SubAgentStatus,
    /// Whether the work after its end is done too: its directory is cleaned up and its result
    /// written.
    pub(crate) settled: bool,
    pub(crate) background: bool,
}

impl View {
    pub(crate) fn is_running(self) -> bool {
        self.status == SubAgentStatus::Running
    }
}

/// The result of a sub-agent, in the form in which its description has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// Last text of the sub-agent; may be empty.
    #[serde(skip)]
    pub(crate) text: String,
    /// Reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Usage since it was started or resumed, including its own sub-agents.
    #[serde(flatten)]
    pub(crate) totals: Totals,
    /// Duration of that time in milliseconds.
    pub(crate) duration_ms: u64,
    #[serde(skip)]
    pub(crate) kept: Option<IsolatedDirectory>,
}

/// The mutable part of a record.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Cancels the current run. Not linked to another token.
    pub(super) cancel: CancellationToken,
    pub(super) stopped_by: Option<StoppedBy>,
    /// Whether it still accepts mail.
    pub(super) open: bool,
    /// Unread input.
    pub(super) mail: Vec<Injected>,
    pub(super) finding: Finding,
    /// Usage of its own sub-agents in the current run.
    pub(super) below: Totals,
    /// Usage before the current run.
    pub(super) before: Totals,
    pub(super) started: UnixMs,
    /// Number of runs, including resumptions.
    pub(super) runs: u32,
    /// The run whose result its parent received through `TaskOutput`; 0 for none.
    pub(super) handed_out: u32,
    /// Whether its parent has received the notification of its last end.
    pub(super) notified: bool,
    pub(super) directory: Option<IsolatedDirectory>,
    /// Names of the tools that it began with; it never gets others.
    pub(super) initial_tools: Option<Vec<String>>,
    /// The directory to which the process's agent had moved when this one began.
    pub(super) moved_to: Option<Workplace>,
    /// Its MCP servers in the current run.
    pub(super) servers: Option<AgentServers>,
    /// Its background commands in the current run.
    pub(super) commands: Arc<BackgroundCommands>,
}

/// A sub-agent known to this process.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) id: SubAgentId,
    /// A short name in addition to the id, for example `explore-1`.
    pub(crate) name: String,
    pub(crate) parent: Arc<Parent>,
    /// The start request; its `background` is what was requested, not the current state.
    pub(crate) request: SubAgentRequest,
    /// What its parent reads of a result in which a risk is found.
    pub(super) handoff: HandoffScan,
    /// Why it cannot be resumed, if something is missing from which its permissions are derived.
    pub(super) blocked: Option<String>,
    /// Common path of its files: transcript, description and result differ in their extension.
    pub(super) stem: PathBuf,
    pub(super) live: Mutex<Live>,
    pub(crate) view: watch::Sender<View>,
    /// Notified when there may be new input.
    pub(super) came: Notify,
}

/// A sub-agent that a call waits for. Dropping the link stops the sub-agent unless it runs in the
/// background.
#[derive(Debug)]
pub(crate) struct Link(pub(super) Arc<Record>);

impl std::ops::Deref for Link {
    type Target = Arc<Record>;

    fn deref(&self) -> &Arc<Record> {
        &self.0
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let view = self.0.view();
        if !view.background && !view.settled {
            self.0.parent_left();
        }
    }
}

impl Record {
    pub(super) fn new(
        id: SubAgentId,
        name: String,
        parent: Arc<Parent>,
        request: SubAgentRequest,
        directory: &std::path::Path,
        handoff: HandoffScan,
    ) -> Self {
        let background = request.background;
        Self {
            stem: directory.join(format!("agent-{id}")),
            id,
            name,
            parent,
            request,
            handoff,
            blocked: None,
            live: Mutex::new(Live {
                open: true,
                ..Live::default()
            }),
            view: watch::Sender::new(View {
                status: SubAgentStatus::Running,
                settled: false,
                background,
            }),
            came: Notify::new(),
        }
    }

    pub(crate) fn agent_type(&self) -> &str {
        &self.request.definition.name
    }

    /// Returns whether it began with its parent's conversation.
    pub(crate) fn is_fork(&self) -> bool {
        self.request.origin.is_some() || self.agent_type() == FORK
    }

    pub(crate) fn depth(&self) -> u32 {
        self.parent.depth + 1
    }

    pub(crate) fn view(&self) -> View {
        *self.view.borrow()
    }

    /// Resolves when the view satisfies `wanted`.
    pub(crate) async fn until(&self, wanted: impl FnMut(&View) -> bool) {
        let mut view = self.view.subscribe();
        // Cannot fail: `self` owns the sender.
        let _infallible = view.wait_for(wanted).await.map(drop);
    }

    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock()
    }

    /// Returns the result; empty before the end.
    pub(crate) fn finding(&self) -> Finding {
        self.live().finding.clone()
    }

    /// Stops the current run, if any. If it is stopped more than once, the first reason is kept.
    pub(super) fn stop(&self, by: StoppedBy) {
        let mut live = self.live();
        live.stopped_by.get_or_insert(by);
        live.cancel.cancel();
    }

    /// Returns whether `who` is its name or its id.
    pub(crate) fn is_called(&self, who: &str) -> bool {
        who == self.id.as_str() || who.eq_ignore_ascii_case(&self.name)
    }

    /// Returns why it cannot be resumed, as a clause for an error; `None` if it can.
    pub(super) fn hindrance(&self) -> Option<String> {
        let place = self.live().moved_to.clone();
        let place = place.filter(|_| self.request.settings.isolation.is_none());
        let gone = place.filter(|place| !place.cwd.is_dir());
        let gone = gone.map(|place| format!("its directory {} is gone", place.cwd.display()));
        self.blocked.clone().or(gone)
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.stem.with_extension("jsonl")
    }

    /// Returns the path of the file with the whole result.
    pub(crate) fn output(&self) -> PathBuf {
        self.stem.with_extension("output")
    }
}
