//! One sub-agent, from its first start to the end of the process.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use swarm_mcp::AgentServers;
use swarm_protocol::{SubAgentId, UnixMs};
use swarm_tools::{BackgroundCommands, Workplace};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{IsolatedDirectory, Parent, SubAgentRequest};
use crate::fork::FORK;
use crate::{Injected, Totals};

/// How it stands with a sub-agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubAgentStatus {
    /// It works.
    Running,
    /// It ended its turn by itself.
    Completed,
    /// It could not go on.
    Failed,
    /// It was stopped.
    Killed,
    /// Its parent's turn or its process ended before it.
    Interrupted,
}

impl SubAgentStatus {
    /// The word that is shown and written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Who ended a sub-agent before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoppedBy {
    /// An agent; a message starts it again.
    Agent,
    /// The end of its parent's turn.
    Parent,
    /// The end of the process.
    Process,
    /// The stall limit.
    Stall,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) status: SubAgentStatus,
    /// Whether all that follows its end is done too: its directory is cleared away, its result is written.
    pub(crate) settled: bool,
    pub(crate) background: bool,
}

impl View {
    pub(crate) fn is_running(self) -> bool {
        self.status == SubAgentStatus::Running
    }
}

/// What came of a sub-agent's work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Finding {
    /// Its last words; may be empty.
    pub(crate) text: String,
    /// Why it failed.
    pub(crate) error: Option<String>,
    /// What it used since it was started or resumed, with its own sub-agents.
    pub(crate) totals: Totals,
    /// Milliseconds of that time.
    pub(crate) duration_ms: u64,
    /// Its directory, if that was kept.
    pub(crate) kept: Option<IsolatedDirectory>,
}

/// What changes while it lives.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Ends the run under way. Linked to nobody else's.
    pub(super) cancel: CancellationToken,
    pub(super) stopped_by: Option<StoppedBy>,
    /// Whether it will still read its mail.
    pub(super) open: bool,
    /// What it has not read yet.
    pub(super) mail: Vec<Injected>,
    pub(super) finding: Finding,
    /// What its own sub-agents used in the run under way.
    pub(super) below: Totals,
    /// What it had used before the run under way.
    pub(super) before: Totals,
    pub(super) started: UnixMs,
    /// How often it was started, resumptions included.
    pub(super) runs: u32,
    /// The run whose result its parent was given by `TaskOutput`; 0 for none.
    pub(super) handed_out: u32,
    /// Whether its parent has heard of its last end.
    pub(super) told: bool,
    pub(super) directory: Option<IsolatedDirectory>,
    /// The names of the tools that it began with: it never has others.
    pub(super) held: Option<Vec<String>>,
    /// Where the agent of the process had moved when this one began below it.
    pub(super) place: Option<Workplace>,
    /// Its MCP servers in the run under way.
    pub(super) servers: Option<AgentServers>,
    /// Its commands in the background in the run under way.
    pub(super) commands: Arc<BackgroundCommands>,
}

/// A sub-agent that this process knows.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) id: SubAgentId,
    /// A short name beside the id, `explore-1`.
    pub(crate) name: String,
    pub(crate) parent: Arc<Parent>,
    /// What it was started with; `background` says only what was asked for.
    pub(crate) request: SubAgentRequest,
    /// Why it cannot be taken up again, where something is gone that its rights follow from.
    pub(super) barred: Option<String>,
    /// Where its files begin: transcript, description and result differ in their endings.
    pub(super) stem: PathBuf,
    pub(super) live: Mutex<Live>,
    pub(crate) view: watch::Sender<View>,
    /// Notified when something may have come for it to read.
    pub(super) came: Notify,
}

/// A sub-agent and whoever waits for it. It ends with this, unless it works in the background.
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
    ) -> Self {
        let background = request.background;
        Self {
            stem: directory.join(format!("agent-{id}")),
            id,
            name,
            parent,
            request,
            barred: None,
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

    /// Its type.
    pub(crate) fn agent_type(&self) -> &str {
        &self.request.definition.name
    }

    /// Whether it began with its parent's conversation.
    pub(crate) fn is_fork(&self) -> bool {
        self.request.origin.is_some() || self.agent_type() == FORK
    }

    pub(crate) fn depth(&self) -> u32 {
        self.parent.depth + 1
    }

    pub(crate) fn view(&self) -> View {
        *self.view.borrow()
    }

    /// Resolves when it stands as wanted.
    pub(crate) async fn until(&self, wanted: impl FnMut(&View) -> bool) {
        let mut view = self.view.subscribe();
        // The sender is ours, so it lives.
        let _is_so = view.wait_for(wanted).await.map(drop);
    }

    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock()
    }

    /// What came of its work, once that is known.
    pub(crate) fn finding(&self) -> Finding {
        self.live().finding.clone()
    }

    /// Ends the run under way, if there is one; the first reason counts.
    pub(super) fn stop(&self, by: StoppedBy) {
        let mut live = self.live();
        live.stopped_by.get_or_insert(by);
        live.cancel.cancel();
    }

    /// Whether the name or the id is meant.
    pub(crate) fn is_called(&self, who: &str) -> bool {
        who == self.id.as_str() || who.eq_ignore_ascii_case(&self.name)
    }

    /// Why it cannot be taken up again, as half a sentence.
    pub(super) fn hindrance(&self) -> Option<String> {
        let place = self.live().place.clone();
        let place = place.filter(|_| self.request.isolation.is_none());
        let gone = place.filter(|place| !place.cwd.is_dir());
        let gone = gone.map(|place| format!("its directory {} is gone", place.cwd.display()));
        self.barred.clone().or(gone)
    }

    /// The transcript.
    pub(crate) fn transcript(&self) -> PathBuf {
        self.stem.with_extension("jsonl")
    }

    /// The description.
    pub(super) fn meta_path(&self) -> PathBuf {
        self.stem.with_extension("meta.json")
    }

    /// The file in which the whole result is written at the end.
    pub(crate) fn output(&self) -> PathBuf {
        self.stem.with_extension("output")
    }
}
