//! The registry of a process's sub-agents, and limits on their number. A refusal names the limit.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard};
use swarm_permissions::AgentLimits;
use swarm_protocol::{AgentEvent, SubAgentId};
use swarm_tools::Tool;
use tokio::sync::{Notify, watch};

use super::record::Record;
use super::{Parent, ReadyModel, SubAgentRequest, SubAgentServices};
use crate::{EventSink, Injected, TranscriptAuthor};

/// The sub-agents of the process's agent, including nested ones. One registry per process.
#[derive(Debug)]
pub struct SubAgents {
    /// Weak reference to itself, for spawned tasks.
    me: Weak<Self>,
    kit: SubAgentServices,
    pub(super) root: OnceLock<Root>,
    inner: Mutex<Inner>,
    changed: Notify,
    /// Whether background sub-agents are paused.
    pub(super) paused: watch::Sender<bool>,
}

/// Values taken from the agent of the process.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// The tools of the process, from which sub-agents get theirs.
    pub(super) pool: Vec<Arc<dyn Tool>>,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) author: TranscriptAuthor,
    /// Directory of the sub-agents' files.
    pub(super) directory: PathBuf,
    pub(super) parent: Arc<Parent>,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) admission: Admission,
    pub(super) records: Vec<Arc<Record>>,
    /// Pending notifications for the agent of the process.
    pub(super) mail: Vec<Injected>,
    /// The model to which the agent of the process has changed.
    pub(super) model: Option<ReadyModel>,
    /// Events of an earlier process's sub-agents, until they are emitted.
    pub(super) past: Vec<AgentEvent>,
}

impl SubAgents {
    /// Creates an empty registry.
    pub fn new(kit: SubAgentServices) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            kit,
            root: OnceLock::new(),
            inner: Mutex::default(),
            changed: Notify::new(),
            paused: watch::Sender::new(false),
        })
    }

    pub(super) fn kit(&self) -> &SubAgentServices {
        &self.kit
    }

    pub(super) fn root(&self) -> Result<Root, String> {
        let root = self.root.get().cloned();
        root.ok_or_else(|| "The sub-agent was not started: this process has no agent yet.".into())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Wakes the task that waits for a change.
    pub(super) fn notify_changed(&self) {
        self.changed.notify_one();
    }

    /// Resolves when something may have changed: a background sub-agent has ended, or its
    /// permission request was answered. Only one task can wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the sub-agent with this id or name.
    pub(crate) fn find(&self, who: &str) -> Option<Arc<Record>> {
        let inner = self.lock();
        // The latest wins if sub-agents of different processes share a name.
        let found = inner
            .records
            .iter()
            .rev()
            .find(|record| record.is_called(who));
        found.cloned()
    }

    /// Returns the sub-agent that started a sub-agent, if it was one.
    pub(super) fn parent_record(&self, record: &Record) -> Option<Arc<Record>> {
        self.find(record.parent.id.as_ref()?.as_str())
    }

    /// Returns a strong reference for use during an operation. Fails if the process is shutting
    /// down.
    pub(super) fn strong(&self) -> Result<Arc<Self>, String> {
        let me = self.me.upgrade();
        me.ok_or_else(|| "The sub-agent was not started: this process is shutting down.".to_owned())
    }

    pub(super) fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.me)
    }

    /// Returns a sentence for the model that lists the running sub-agents.
    pub(super) fn running_summary(&self) -> String {
        let inner = self.lock();
        let running: Vec<String> = inner
            .records
            .iter()
            .filter(|record| record.view().is_running())
            .map(|record| format!("{} ({})", record.name, record.id))
            .collect();
        if running.is_empty() {
            "No sub-agent is running.".to_owned()
        } else {
            format!("Running: {}.", running.join(", "))
        }
    }

    /// Returns all sub-agents of the process, oldest first.
    pub(super) fn records(&self) -> Vec<Arc<Record>> {
        self.lock().records.clone()
    }

    /// Returns the background sub-agents that have not completely ended.
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
    /// Returns the name of a new sub-agent. The error is for the model: the requested name belongs
    /// to a running sub-agent.
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
                "The sub-agent was not started: a sub-agent named `{name}` is running. Choose another name, or send it a message \
                 with SendMessage."
            ));
        }
        Ok(name.clone())
    }

    /// Returns an unused name: the type and a number.
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
        // With one candidate more than records, at least one is unused.
        (1..=self.records.len() + 1)
            .map(|number| format!("{base}-{number}"))
            .find(|name| !self.records.iter().any(|record| record.name == *name))
            .unwrap_or(base)
    }
}

/// What to do when no sub-agent can be started.
const ALONE: &str = "do this work yourself";

/// The running sub-agents with their parents, and the number of starts.
#[derive(Debug, Default)]
pub(super) struct Admission {
    running: HashMap<SubAgentId, Option<SubAgentId>>,
    started: u64,
}

impl Admission {
    /// Admits a new sub-agent, or returns which limit is reached.
    pub(super) fn admit(
        &mut self,
        limits: &AgentLimits,
        parent: &Parent,
        id: &SubAgentId,
    ) -> Result<(), String> {
        let (depth, most) = (parent.depth.into(), limits.max_depth.into());
        within(depth, most, "max_depth", "nested sub-agents", ALONE)?;
        let (started, most) = (self.started, limits.max_total);
        within(started, most, "max_total", "sub-agents per process", ALONE)?;
        self.readmit(limits, parent, id)?;
        self.started += 1;
        Ok(())
    }

    /// Admits a sub-agent that runs again after its end, or returns which limit is reached.
    pub(super) fn readmit(
        &mut self,
        limits: &AgentLimits,
        parent: &Parent,
        id: &SubAgentId,
    ) -> Result<(), String> {
        let (running, most) = (self.running.len() as u64, limits.max_concurrent as u64);
        let (what, instead) = ("concurrent sub-agents", "wait until one of them has ended");
        within(running, most, "max_concurrent", what, instead)?;
        let siblings = self.running.values().filter(|of| **of == parent.id);
        let (running, most) = (siblings.count() as u64, limits.max_per_parent as u64);
        let what = "concurrent sub-agents per agent";
        let instead = "wait until one of yours has ended";
        within(running, most, "max_per_parent", what, instead)?;
        self.running.insert(id.clone(), parent.id.clone());
        Ok(())
    }

    /// Releases the slot of a sub-agent that has ended.
    pub(super) fn release(&mut self, id: &SubAgentId) {
        self.running.remove(id);
    }
}

/// Returns an error if a limit is reached.
fn within(now: u64, limit: u64, setting: &str, what: &str, instead: &str) -> Result<(), String> {
    if now < limit {
        return Ok(());
    }
    Err(format!(
        "The sub-agent was not started: the limit agents.{setting} of {limit} {what} is reached. Instead, {instead}."
    ))
}
