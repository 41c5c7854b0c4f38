//! Teams as files under one root folder.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_fs::Liveness;
use swarm_protocol::{
    Answer, BackendType, Clock, Event, Hello, InboxEntry, LeadProcess, Member, MemberName,
    MessageId, NewTask, PaneId, RequestId, RequestRecord, SpawnId, StateReport, Task, TaskId,
    TeamConfig, TeamName,
};

use crate::layout::Layout;
use crate::{
    Actor, Draft, Events, Inbox, MemberView, NewMember, NewTeam, ReconcileReport, Removed,
    RequestList, Result, StoreError, StoreLimits, TaskChange, TaskList, TaskUpdated, TeamStore,
};

/// [`TeamStore`] on Claude Code's files below one root folder (`~/.claude`, unless told otherwise).
#[derive(Debug, Clone)]
pub struct FileStore {
    pub(crate) layout: Layout,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: StoreLimits,
}

impl FileStore {
    /// A store below `root`, which need not exist yet.
    pub fn new(root: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self {
            layout: Layout::new(root),
            clock,
            limits: StoreLimits::default(),
        }
    }

    /// The same store with other bounds.
    #[must_use]
    pub fn with_limits(mut self, limits: StoreLimits) -> Self {
        self.limits = limits;
        self
    }
}

#[allow(clippy::todo, unused_variables)]
impl TeamStore for FileStore {
    fn create_team(&self, new: NewTeam) -> Result<TeamConfig> {
        todo!()
    }

    fn teams(&self) -> Result<Vec<TeamName>> {
        todo!()
    }

    fn config(&self, team: &TeamName) -> Result<TeamConfig> {
        todo!()
    }

    fn delete_team(&self, team: &TeamName, purge: bool, force: bool) -> Result<Option<PathBuf>> {
        todo!()
    }

    fn update_config(
        &self,
        team: &TeamName,
        change: &mut dyn FnMut(&mut TeamConfig) -> Result<(), StoreError>,
    ) -> Result<TeamConfig> {
        todo!()
    }

    fn reserve(&self, team: &TeamName, new: NewMember) -> Result<Member> {
        todo!()
    }

    fn commit_spawn(
        &self,
        team: &TeamName,
        spawn: &SpawnId,
        pane: PaneId,
        backend: BackendType,
        socket: Option<PathBuf>,
    ) -> Result<Member> {
        todo!()
    }

    fn abort_spawn(&self, team: &TeamName, spawn: &SpawnId, reason: &str) -> Result<bool> {
        todo!()
    }

    fn remove_member(
        &self,
        team: &TeamName,
        name: &MemberName,
        spawn: Option<&SpawnId>,
    ) -> Result<Option<Removed>> {
        todo!()
    }

    fn set_active(&self, team: &TeamName, name: &MemberName, active: bool) -> Result<()> {
        todo!()
    }

    fn set_lead_process(&self, team: &TeamName, lead: Option<LeadProcess>) -> Result<()> {
        todo!()
    }

    fn reconcile(&self, team: &TeamName) -> Result<ReconcileReport> {
        todo!()
    }

    fn send(&self, team: &TeamName, to: &MemberName, draft: Draft) -> Result<MessageId> {
        todo!()
    }

    fn inbox(&self, team: &TeamName, name: &MemberName) -> Result<Inbox> {
        todo!()
    }

    fn take_unread(&self, team: &TeamName, name: &MemberName) -> Result<Vec<InboxEntry>> {
        todo!()
    }

    fn ack(&self, team: &TeamName, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        todo!()
    }

    fn create_tasks(&self, team: &TeamName, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>> {
        todo!()
    }

    fn tasks(&self, team: &TeamName) -> Result<TaskList> {
        todo!()
    }

    fn task(&self, team: &TeamName, id: &TaskId) -> Result<Task> {
        todo!()
    }

    fn update_task(
        &self,
        team: &TeamName,
        id: &TaskId,
        change: TaskChange,
        by: &Actor,
    ) -> Result<TaskUpdated> {
        todo!()
    }

    fn claim(&self, team: &TeamName, id: &TaskId, by: &Actor) -> Result<Task> {
        todo!()
    }

    fn claim_next(&self, team: &TeamName, by: &Actor) -> Result<Option<Task>> {
        todo!()
    }

    fn release(&self, team: &TeamName, id: &TaskId, by: &Actor) -> Result<Task> {
        todo!()
    }

    fn delete_task(&self, team: &TeamName, id: &TaskId, by: &Actor) -> Result<Vec<Task>> {
        todo!()
    }

    fn write_hello(&self, team: &TeamName, name: &MemberName, hello: &Hello) -> Result<()> {
        todo!()
    }

    fn hello(&self, team: &TeamName, name: &MemberName) -> Result<Option<Hello>> {
        todo!()
    }

    fn write_state(&self, team: &TeamName, name: &MemberName, state: &StateReport) -> Result<()> {
        todo!()
    }

    fn state(&self, team: &TeamName, name: &MemberName) -> Result<Option<StateReport>> {
        todo!()
    }

    fn liveness(&self, team: &TeamName, name: &MemberName) -> Result<Liveness> {
        todo!()
    }

    fn member_view(&self, team: &TeamName) -> Result<Vec<MemberView>> {
        todo!()
    }

    fn open_request(&self, team: &TeamName, request: RequestRecord) -> Result<()> {
        todo!()
    }

    fn requests(&self, team: &TeamName) -> Result<RequestList> {
        todo!()
    }

    fn request(&self, team: &TeamName, id: &RequestId) -> Result<RequestRecord> {
        todo!()
    }

    fn answer_request(
        &self,
        team: &TeamName,
        id: &RequestId,
        answer: Answer,
    ) -> Result<RequestRecord> {
        todo!()
    }

    fn close_request(&self, team: &TeamName, id: &RequestId) -> Result<()> {
        todo!()
    }

    fn journal(&self, team: &TeamName, event: Event) -> Result<()> {
        todo!()
    }

    fn events_from(&self, team: &TeamName, from: u64) -> Result<Events> {
        todo!()
    }

    fn team_folder(&self, team: &TeamName) -> PathBuf {
        todo!()
    }

    fn inbox_folder(&self, team: &TeamName) -> PathBuf {
        todo!()
    }

    fn tasks_folder(&self, team: &TeamName) -> PathBuf {
        todo!()
    }

    fn requests_folder(&self, team: &TeamName) -> PathBuf {
        todo!()
    }

    fn member_dir(&self, team: &TeamName, name: &MemberName) -> PathBuf {
        todo!()
    }

    fn life_path(&self, team: &TeamName, name: &MemberName) -> PathBuf {
        todo!()
    }

    fn journal_path(&self, team: &TeamName) -> PathBuf {
        todo!()
    }
}
