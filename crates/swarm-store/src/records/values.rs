//! The records and logs of a team.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use swarm_protocol::{
    BlobRef, Budgets, CostRecord, Hello, InboxEntry, JournalEntry, Member, MemberName, PauseMark,
    RequestId, RequestRecord, RightsReport, SpawnId, StateReport, TaskId, TeamConfig, UnixMs,
};

use super::key::Key;
use super::record::{Log, Record};
use super::space::WriteId;
use crate::exchange::Branches;
use crate::roster::Undo;

pub(super) fn roster() -> Record<RosterValue> {
    Record::of_every_team("roster")
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

/// Large values that were not deleted, each with the time by the server's clock at which storing it began.
pub(super) fn blobs() -> Record<Vec<(BlobRef, UnixMs)>> {
    Record::new("blobs")
}

/// The seed of the team's signing key, in hex.
pub(super) fn key() -> Record<String> {
    Record::of_every_team("key")
}

pub(super) fn inbox(name: &MemberName) -> Record<Option<InboxValue>> {
    Record::new(&format!("inbox.{name}"))
}

pub(super) fn reports(name: &MemberName) -> Record<Reports> {
    Record::new(&format!("reports.{name}"))
}

/// The prefix of the keys of all inboxes.
pub(super) fn inboxes() -> Key {
    Key::new("record.inbox")
}

/// Unread messages in the logs. It has the prefix of inboxes, so that it is read with them; no member has
/// this name.
pub(super) fn unread() -> Record<UnreadIndex> {
    Record::new("inbox._unread")
}

/// The prefix of the keys of the logs of messages that were sent.
pub(super) fn all_sent() -> Key {
    Key::new("log.inbox")
}

/// The prefix of the keys of all reports.
pub(super) fn all_reports() -> Key {
    Key::new("record.reports")
}

pub(super) fn journal() -> Log<JournalEntry> {
    Log::new("journal")
}

pub(super) fn costs() -> Log<CostRecord> {
    Log::new("costs")
}

/// Messages that were sent, except those that are only in the inbox's record. They stay there.
pub(super) fn sent(name: &MemberName) -> Log<InboxEntry> {
    Log::new(&format!("inbox.{name}"))
}

/// The keys that are written when an inbox changes.
pub(super) fn mail_of(name: &MemberName) -> [Key; 2] {
    [inbox(name).key, sent(name).key]
}

/// Acknowledged messages that have left the inbox's record.
pub(super) fn archive(name: &MemberName) -> Log<InboxEntry> {
    Log::new(&format!("archive.{name}"))
}

#[derive(Debug, Clone, Serialize, Deserialize)]
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

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TasksValue {
    /// The pages with tasks, by number.
    pub(super) pages: BTreeMap<u64, WriteId>,
    /// The highest number of a task ever given.
    pub(super) highest: u64,
    /// Spawns that are over and can change no task any more, with the tasks that this released.
    pub(super) ended: BTreeMap<SpawnId, Vec<TaskId>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestsValue {
    pub(super) requests: BTreeMap<RequestId, RequestRecord>,
    /// The highest number ever given.
    pub(super) highest: u32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InboxValue {
    /// Messages that are not in the log of sent messages, and older ones of the log that were unread
    /// when newer ones were read.
    pub(super) entries: Vec<InboxEntry>,
    /// Position in the log up to which all messages are read or in `entries`.
    pub(super) next: u64,
    /// Positions of messages in the log that are read: those after `next`, and the last ones before it,
    /// which still count as part of the inbox. Earlier ones are archived.
    pub(super) read: BTreeSet<u64>,
    /// For each record whose changes send messages: the revision of the last such change, and the
    /// number of its last message that was delivered here.
    pub(super) letters: BTreeMap<String, (u64, usize)>,
    /// Ends of spawns that were reported here, and are not in the roster yet.
    pub(super) ends: BTreeSet<SpawnId>,
}

/// Where the logs have unread messages, and perhaps others that were read since.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnreadIndex {
    /// Position up to which they are known.
    pub(super) end: u64,
    /// Their positions.
    pub(super) unread: BTreeMap<MemberName, Vec<u64>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reports {
    pub(super) hello: Option<Hello>,
    pub(super) rights: Option<RightsReport>,
    pub(super) state: Option<StateReport>,
    pub(super) pause: Option<PauseMark>,
}
