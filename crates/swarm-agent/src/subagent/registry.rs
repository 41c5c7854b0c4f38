//! The sub-agents of one process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard};
use swarm_protocol::AgentEvent;
use swarm_tools::Tool;
use tokio::sync::{Notify, watch};

use super::admission::Admission;
use super::record::Record;
use super::{Parent, ReadyModel, SubAgentKit, SubAgentRequest};
use crate::{EventSink, Injected, TranscriptAuthor};

/// Every sub-agent that the agent of this process and its sub-agents have. One for a process.
#[derive(Debug)]
pub struct SubAgents {
    /// Itself, for the tasks that it starts.
    me: Weak<Self>,
    kit: SubAgentKit,
    pub(super) root: OnceLock<Root>,
    inner: Mutex<Inner>,
    changed: Notify,
    /// Whether those in the background are to wait.
    pub(super) held: watch::Sender<bool>,
}

/// What is taken from the agent that the process is for.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// The tools of the process, from which every sub-agent gets its own.
    pub(super) pool: Vec<Arc<dyn Tool>>,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) author: TranscriptAuthor,
    /// Where the files of sub-agents lie.
    pub(super) directory: PathBuf,
    pub(super) parent: Arc<Parent>,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) admission: Admission,
    pub(super) records: Vec<Arc<Record>>,
    /// What the agent of the process has not been told yet.
    pub(super) mail: Vec<Injected>,
    /// The model that the agent of the process has changed to.
    pub(super) model: Option<ReadyModel>,
    /// What happened to sub-agents of an earlier process, until somebody is there to see it.
    pub(super) past: Vec<AgentEvent>,
}

impl SubAgents {
    /// Nobody yet.
    pub fn new(kit: SubAgentKit) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            kit,
            root: OnceLock::new(),
            inner: Mutex::default(),
            changed: Notify::new(),
            held: watch::Sender::new(false),
        })
    }

    pub(super) fn kit(&self) -> &SubAgentKit {
        &self.kit
    }

    pub(super) fn root(&self) -> Result<Root, String> {
        let root = self.root.get().cloned();
        root.ok_or_else(|| "The sub-agent was not started: this process has no agent yet.".into())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Wakes whoever waits for a change.
    pub(super) fn stir(&self) {
        self.changed.notify_one();
    }

    /// Resolves when something may have changed: a sub-agent in the background ended, or its question was answered.
    /// One waits at a time.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The sub-agent that goes by this id or name.
    pub(crate) fn find(&self, who: &str) -> Option<Arc<Record>> {
        let inner = self.lock();
        // The latest of a name, should there be two from different processes.
        let found = inner
            .records
            .iter()
            .rev()
            .find(|record| record.is_called(who));
        found.cloned()
    }

    /// Itself, to be kept while something is under way. Gone when the process is about to end.
    pub(super) fn me(&self) -> Result<Arc<Self>, String> {
        let me = self.me.upgrade();
        me.ok_or_else(|| "The sub-agent was not started: this process is about to end.".to_owned())
    }

    /// Itself, without being kept.
    pub(super) fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.me)
    }

    /// Which sub-agents run, as a sentence for a model.
    pub(super) fn who_runs(&self) -> String {
        let inner = self.lock();
        let running: Vec<String> = inner
            .records
            .iter()
            .filter(|record| record.view().is_running())
            .map(|record| format!("{} ({})", record.name, record.id))
            .collect();
        if running.is_empty() {
            "No sub-agent runs.".to_owned()
        } else {
            format!("Running: {}.", running.join(", "))
        }
    }

    /// Those that work in the background.
    pub(crate) fn in_background(&self) -> Vec<Arc<Record>> {
        let inner = self.lock();
        let busy = |record: &&Arc<Record>| {
            let view = record.view();
            view.background && !view.settled
        };
        inner.records.iter().filter(busy).cloned().collect()
    }
}

impl Inner {
    /// The name of a new sub-agent. The error is for the model: one that runs has the name that the call gives.
    pub(super) fn name_for(&self, request: &SubAgentRequest) -> Result<String, String> {
        let Some(name) = &request.name else {
            return Ok(self.fresh_name(&request.definition.name));
        };
        let mut running = self
            .records
            .iter()
            .filter(|record| record.view().is_running());
        if running.any(|record| record.is_called(name)) {
            return Err(format!(
                "The sub-agent was not started: a sub-agent called `{name}` is running. Choose another name, or write to it \
                 with SendMessage."
            ));
        }
        Ok(name.clone())
    }

    /// A name that no other sub-agent has: its type and a number.
    pub(super) fn fresh_name(&self, agent_type: &str) -> String {
        let base: String = agent_type
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .collect();
        // One more than there are has to be free.
        (1..=self.records.len() + 1)
            .map(|number| format!("{base}-{number}"))
            .find(|name| !self.records.iter().any(|record| record.name == *name))
            .unwrap_or(base)
    }
}
