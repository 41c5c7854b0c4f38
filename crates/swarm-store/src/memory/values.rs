//! The records of a team.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{
    Budgets, CostRecord, Hello, InboxEntry, JournalEntry, LifeRecord, Member, MemberName,
    MessageId, PauseMark, RequestId, RequestRecord, RightsReport, SpawnId, StateReport, TaskId,
    TeamConfig,
};
use tokio::sync::oneshot;

use super::bell::Bell;
use super::record::{Log, Record};
use crate::keys::SigningKey;
use crate::roster::Undo;
use crate::tasks::Writes;
use crate::{Result, TaskList};

/// One team.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) roster: Record<RosterValue>,
    pub(super) tasks: Record<TasksValue>,
    pub(super) requests: Record<RequestsValue>,
    pub(super) budgets: Record<Budgets>,
    pub(super) members: Mutex<BTreeMap<MemberName, Arc<MemberRecords>>>,
    pub(super) journal: Log<JournalEntry>,
    pub(super) costs: Log<CostRecord>,
    pub(super) key: SigningKey,
    /// Rings when any inbox is written.
    pub(super) mail: Bell,
}

/// The records of one member, in the roster or not.
#[derive(Debug)]
pub(super) struct MemberRecords {
    pub(super) inbox: Record<Option<InboxValue>>,
    pub(super) reports: Record<Reports>,
    pub(super) lease: Mutex<LeaseValue>,
    /// Rings when the lease is taken.
    pub(super) taken: Bell,
}

#[derive(Debug, Clone)]
pub(super) struct RosterValue {
    pub(super) config: TeamConfig,
    /// What reservations have replaced.
    pub(super) undo: BTreeMap<MemberName, Undo>,
    /// Last entries of removed members.
    pub(super) former: BTreeMap<MemberName, Member>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TasksValue {
    pub(super) list: TaskList,
    /// The highest number ever given.
    pub(super) highest: u64,
    /// Spawns that are over and can change no task any more, with the tasks that this released.
    pub(super) ended: BTreeMap<SpawnId, Vec<TaskId>>,
}

impl TasksValue {
    pub(super) fn apply(&mut self, writes: Writes) {
        let tasks = &mut self.list.tasks;
        for (id, task) in writes {
            self.highest = self.highest.max(id.number());
            match (tasks.binary_search_by_key(&id, |task| task.id), task) {
                (Ok(at), Some(task)) => tasks[at] = task,
                (Ok(at), None) => drop(tasks.remove(at)),
                (Err(at), Some(task)) => tasks.insert(at, task),
                (Err(_), None) => {}
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct RequestsValue {
    pub(super) requests: BTreeMap<RequestId, RequestRecord>,
    /// The highest number ever given.
    pub(super) highest: u32,
}

#[derive(Debug, Clone, Default)]
pub(super) struct InboxValue {
    pub(super) entries: Vec<InboxEntry>,
    pub(super) archive: Vec<InboxEntry>,
    /// Messages that are sent once, also after they have left the inbox.
    pub(super) once: BTreeSet<MessageId>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Reports {
    pub(super) hello: Option<Hello>,
    pub(super) rights: Option<RightsReport>,
    pub(super) state: Option<StateReport>,
    pub(super) pause: Option<PauseMark>,
}

#[derive(Debug, Default)]
pub(super) struct LeaseValue {
    pub(super) is_held: bool,
    /// The last holder.
    pub(super) record: Option<LifeRecord>,
    /// Those who wait for its release.
    pub(super) waiting: Vec<oneshot::Sender<Result<()>>>,
}

impl MemberRecords {
    pub(super) fn new() -> Self {
        Self {
            inbox: Record::new(None),
            reports: Record::new(Reports::default()),
            lease: Mutex::default(),
            taken: Bell::default(),
        }
    }
}

impl Records {
    pub(super) fn new(config: TeamConfig, key: SigningKey) -> Self {
        Self {
            roster: Record::new(RosterValue {
                config,
                undo: BTreeMap::new(),
                former: BTreeMap::new(),
            }),
            tasks: Record::new(TasksValue::default()),
            requests: Record::new(RequestsValue::default()),
            budgets: Record::new(Budgets::default()),
            members: Mutex::default(),
            journal: Log::new(),
            costs: Log::new(),
            key,
            mail: Bell::default(),
        }
    }

    /// Returns the records of a member for reading: empty ones if there are none.
    pub(super) fn known(&self, name: &MemberName) -> Arc<MemberRecords> {
        let known = self.members.lock().get(name).cloned();
        known.unwrap_or_else(|| Arc::new(MemberRecords::new()))
    }

    /// Returns the records of a member for a change.
    pub(super) fn member(&self, name: &MemberName) -> Arc<MemberRecords> {
        let mut members = self.members.lock();
        let records = members
            .entry(name.clone())
            .or_insert_with(|| Arc::new(MemberRecords::new()));
        Arc::clone(records)
    }
}
