//! The records and logs of a team.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use swarm_protocol::{
    Budgets, CostRecord, Hello, InboxEntry, JournalEntry, Member, MemberName, MessageId, PauseMark,
    RequestId, RequestRecord, RightsReport, SpawnId, StateReport, Task, TaskId, TeamConfig,
};

use super::key::Key;
use super::record::{Log, Record, Value};
use crate::TaskList;
use crate::exchange::Branches;
use crate::roster::Undo;
use crate::tasks::Writes;

pub(super) fn roster() -> Record<RosterValue> {
    Record::new("roster")
}

pub(super) fn tasks() -> Record<TasksValue> {
    Record::new("tasks")
}

pub(super) fn requests() -> Record<RequestsValue> {
    Record::new("requests")
}

pub(super) fn budgets() -> Record<Budgets> {
    Record::new("budgets")
}

pub(super) fn branches() -> Record<Branches> {
    Record::new("branches")
}

/// The seed of the team's signing key, in hex.
pub(super) fn key() -> Record<String> {
    Record::new("key")
}

pub(super) fn inbox(name: &MemberName) -> Record<Option<InboxValue>> {
    Record::new(&format!("inbox.{name}"))
}

pub(super) fn reports(name: &MemberName) -> Record<Reports> {
    Record::new(&format!("reports.{name}"))
}

pub(super) fn journal() -> Log<JournalEntry> {
    Log::new("journal")
}

pub(super) fn costs() -> Log<CostRecord> {
    Log::new("costs")
}

/// Messages that were sent and may not be in the inbox's record.
pub(super) fn sent(name: &MemberName) -> Log<InboxEntry> {
    Log::new(&format!("inbox.{name}"))
}

/// The keys that are written when an inbox changes.
pub(super) fn mail_of(name: &MemberName) -> [Key; 2] {
    [inbox(name).key, sent(name).key]
}

/// Acknowledged messages that have left the inbox.
pub(super) fn archive(name: &MemberName) -> Log<InboxEntry> {
    Log::new(&format!("archive.{name}"))
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RosterValue {
    pub(super) config: TeamConfig,
    /// What reservations have replaced.
    pub(super) undo: BTreeMap<MemberName, Undo>,
    /// Last entries of removed members.
    pub(super) former: BTreeMap<MemberName, Member>,
}

impl RosterValue {
    pub(super) fn new(config: TeamConfig) -> Self {
        Self {
            config,
            undo: BTreeMap::new(),
            former: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TasksValue {
    #[serde(with = "task_list")]
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

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestsValue {
    pub(super) requests: BTreeMap<RequestId, RequestRecord>,
    /// The highest number ever given.
    pub(super) highest: u32,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InboxValue {
    pub(super) entries: Vec<InboxEntry>,
    /// Position in the log of sent messages up to which they are in `entries`, or were.
    pub(super) next: u64,
    /// Messages that are sent once, also after they have left the inbox.
    pub(super) once: BTreeSet<MessageId>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reports {
    pub(super) hello: Option<Hello>,
    pub(super) rights: Option<RightsReport>,
    pub(super) state: Option<StateReport>,
    pub(super) pause: Option<PauseMark>,
}

impl Value for RosterValue {
    fn initial() -> Option<Self> {
        None
    }
}

impl Value for String {
    fn initial() -> Option<Self> {
        None
    }
}

impl Value for TasksValue {
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

impl Value for RequestsValue {
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

impl Value for Budgets {
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

impl Value for Branches {
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

impl Value for Option<InboxValue> {
    fn initial() -> Option<Self> {
        Some(None)
    }
}

impl Value for Reports {
    fn initial() -> Option<Self> {
        Some(Self::default())
    }
}

/// A record has no broken files.
mod task_list {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{Task, TaskList};

    pub(super) fn serialize<S: Serializer>(list: &TaskList, to: S) -> Result<S::Ok, S::Error> {
        list.tasks.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TaskList, D::Error> {
        let tasks = Vec::<Task>::deserialize(from)?;
        let broken = Vec::new();
        Ok(TaskList { tasks, broken })
    }
}
