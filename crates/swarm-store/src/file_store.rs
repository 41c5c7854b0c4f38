//! Teams as files under one root folder.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use swarm_fs::{LifeHolder, Liveness, LockOptions};
use swarm_protocol::{
    Answer, AnsweredBy, BackendType, Clock, Event, Hello, InboxEntry, LeadProcess, LifeRecord,
    Member, MemberName, MessageId, NewTask, PaneId, PauseMark, RequestId, RequestKind,
    RequestRecord, RightsReport, SpawnId, StateReport, Task, TaskId, TeamConfig, TeamName,
};

use crate::layout::Layout;
use crate::mailbox::{LastInbox, QuietInboxes};
use crate::team_files::TeamFiles;
use crate::{
    Actor, AnswerLookup, Draft, Events, Inbox, Leftover, NewMember, NewTeam, Posted,
    ReconcileReport, RemovedMember, RequestList, Result, StoreError, StoreLimits, TaskChange,
    TaskList, TaskUpdated, TeamDamage, TeamStore, TeamView, record,
};

/// From how many tasks on it takes long enough to complete an interrupted write that a person is told.
const WORTH_TELLING: usize = 100;

/// [`TeamStore`] on Claude Code's files below one root folder (`~/.claude`, unless told otherwise).
#[derive(Clone)]
pub struct FileStore {
    pub(crate) layout: Layout,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: StoreLimits,
    pub(crate) lock_options: LockOptions,
    pub(crate) quiet: Arc<QuietInboxes>,
    pub(crate) last_inbox: Arc<LastInbox>,
    witness: Option<Arc<Witness>>,
    announcer: Option<Arc<Announcer>>,
}

/// Told how many tasks are about to be written that another command left unwritten.
type Announcer = dyn Fn(&TeamName, usize) + Send + Sync;

/// Told of every event that this store enters in a journal, once each.
type Witness = dyn Fn(&TeamName, &Event) + Send + Sync;

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("layout", &self.layout)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// A store below `root`, which need not exist yet. It locks as the file system of `root` needs it.
    pub fn new(root: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self {
            lock_options: LockOptions::below(&root),
            layout: Layout::new(root),
            clock,
            limits: StoreLimits::default(),
            quiet: Arc::default(),
            last_inbox: Arc::default(),
            witness: None,
            announcer: None,
        }
    }

    /// The same store with other bounds.
    #[must_use]
    pub fn with_limits(mut self, limits: StoreLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The same store with another way to wait for locks.
    #[must_use]
    pub fn with_lock_options(mut self, options: LockOptions) -> Self {
        self.lock_options = options;
        self
    }

    /// The same store, of which somebody is told what it enters in journals. Each event is told once, by the process
    /// that enters it, when everybody can read it. Locks are held meanwhile, so it must not block or come back to the store.
    #[must_use]
    pub fn told_to(mut self, witness: impl Fn(&TeamName, &Event) + Send + Sync + 'static) -> Self {
        self.witness = Some(Arc::new(witness));
        self
    }

    /// The same store, which tells `announcer` before it completes an interrupted write of so many tasks that somebody
    /// waiting would notice.
    #[must_use]
    pub fn announcing(
        mut self,
        announcer: impl Fn(&TeamName, usize) + Send + Sync + 'static,
    ) -> Self {
        self.announcer = Some(Arc::new(announcer));
        self
    }

    pub(crate) fn announce_completion(&self, team: &TeamName, tasks: usize) {
        if let Some(announcer) = self.announcer.as_ref().filter(|_| tasks >= WORTH_TELLING) {
            announcer(team, tasks);
        }
    }

    pub(crate) fn testify(&self, team: &TeamName, event: &Event) {
        if let Some(witness) = &self.witness {
            witness(team, event);
        }
    }

    pub(crate) fn files<'a>(&'a self, team: &'a TeamName) -> TeamFiles<'a> {
        TeamFiles {
            store: self,
            team,
            at: self.layout.team(team),
            is_aside: false,
        }
    }

    /// Does something with a team and says so if the reason why it failed is that there is no such team.
    fn on<'a, T>(
        &'a self,
        team: &'a TeamName,
        work: impl FnOnce(&TeamFiles<'a>) -> Result<T>,
    ) -> Result<T> {
        let files = self.files(team);
        work(&files).map_err(|error| files.explain(error))
    }
}

impl TeamStore for FileStore {
    fn in_haste(&self, at_most: Duration) -> Arc<dyn TeamStore> {
        let deadline = self.lock_options.deadline.min(at_most);
        let options = LockOptions {
            deadline,
            ..self.lock_options.clone()
        };
        Arc::new(self.clone().with_lock_options(options))
    }

    fn create_team(&self, new: NewTeam) -> Result<TeamConfig> {
        self.create(new)
    }

    fn teams(&self) -> Result<Vec<TeamName>> {
        self.team_names()
    }

    fn is_foreign(&self, team: &TeamName) -> bool {
        self.files(team).is_foreign()
    }

    fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        self.names_and_remains()
    }

    fn damage(&self, team: &TeamName) -> Option<TeamDamage> {
        self.files(team).damage()
    }

    fn config(&self, team: &TeamName) -> Result<TeamConfig> {
        self.on(team, TeamFiles::config)
    }

    fn delete_team(&self, team: &TeamName, purge: bool, force: bool) -> Result<Option<PathBuf>> {
        self.on(team, |files| files.delete(purge, force))
    }

    fn may_delete(&self, team: &TeamName, force: bool) -> Result<()> {
        self.on(team, |files| files.may_delete(&files.config()?, force))
    }

    fn sweep(&self, clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        self.sweep(clear)
    }

    fn update_config(
        &self,
        team: &TeamName,
        change: &mut dyn FnMut(&mut TeamConfig) -> Result<(), StoreError>,
    ) -> Result<TeamConfig> {
        self.on(team, |files| files.update_config(change))
    }

    fn reserve_noting(
        &self,
        team: &TeamName,
        new: NewMember,
        done: &mut ReconcileReport,
    ) -> Result<Member> {
        self.on(team, |files| files.reserve(&new, done))
    }

    fn commit_spawn(
        &self,
        team: &TeamName,
        spawn: &SpawnId,
        pane: PaneId,
        backend: BackendType,
        socket: Option<PathBuf>,
    ) -> Result<Member> {
        self.on(team, |files| {
            files.commit_spawn(*spawn, pane, backend, socket)
        })
    }

    fn abort_spawn(&self, team: &TeamName, spawn: &SpawnId, reason: &str) -> Result<bool> {
        self.on(team, |files| files.abort_spawn(*spawn, reason))
    }

    fn remove_member(
        &self,
        team: &TeamName,
        name: &MemberName,
        spawn: Option<&SpawnId>,
    ) -> Result<Option<RemovedMember>> {
        self.on(team, |files| files.remove_member(name, spawn))
    }

    fn set_active(&self, team: &TeamName, name: &MemberName, active: bool) -> Result<()> {
        self.on(team, |files| files.set_active(name, active))
    }

    fn set_lead_process(&self, team: &TeamName, lead: Option<LeadProcess>) -> Result<()> {
        self.on(team, |files| files.set_lead_process(lead))
    }

    fn clear_lost_lead(&self, team: &TeamName, lost: &LeadProcess) -> Result<()> {
        self.on(team, |files| files.clear_lost_lead(lost))
    }

    fn reconcile_noting(&self, team: &TeamName, done: &mut ReconcileReport) -> Result<()> {
        self.on(team, |files| files.reconcile(done))
    }

    fn post(&self, team: &TeamName, to: &MemberName, draft: Draft) -> Result<Posted> {
        self.on(team, |files| files.post(to, draft))
    }

    fn post_all(
        &self,
        team: &TeamName,
        letters: &[(MemberName, Draft)],
    ) -> Result<Vec<Result<Posted>>> {
        self.on(team, |files| {
            let outcomes = files.post_all(letters)?.into_iter();
            let explained = outcomes.map(|one| one.map_err(|error| files.explain(error)));
            Ok(explained.collect())
        })
    }

    fn inbox(&self, team: &TeamName, name: &MemberName) -> Result<Inbox> {
        self.on(team, |files| files.inbox(name))
    }

    fn archived_mail(&self, team: &TeamName, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.on(team, |files| files.archived_mail(name))
    }

    fn inbox_at_rest(&self, team: &TeamName, name: &MemberName) -> Result<Inbox> {
        self.on(team, |files| files.inbox_at_rest(name))
    }

    fn take_unread(&self, team: &TeamName, name: &MemberName) -> Result<Vec<InboxEntry>> {
        self.on(team, |files| files.take_unread(name))
    }

    fn ack(&self, team: &TeamName, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        self.on(team, |files| files.ack(name, ids))
    }

    fn ack_by_hand(
        &self,
        team: &TeamName,
        name: &MemberName,
        ids: &[MessageId],
    ) -> Result<Vec<MessageId>> {
        self.on(team, |files| files.ack_by_hand(name, ids))
    }

    fn delivered(
        &self,
        team: &TeamName,
        name: &MemberName,
        ids: &[MessageId],
    ) -> Result<Vec<MessageId>> {
        self.on(team, |files| files.delivered(name, ids))
    }

    fn create_tasks(&self, team: &TeamName, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>> {
        self.on(team, |files| files.create_tasks(new, by))
    }

    fn tasks(&self, team: &TeamName) -> Result<TaskList> {
        self.on(team, TeamFiles::tasks)
    }

    fn task(&self, team: &TeamName, id: &TaskId) -> Result<Task> {
        self.on(team, |files| files.task(*id))
    }

    fn update_task(
        &self,
        team: &TeamName,
        id: &TaskId,
        change: TaskChange,
        by: &Actor,
    ) -> Result<TaskUpdated> {
        self.on(team, |files| files.update_task(*id, &change, by))
    }

    fn check_update(
        &self,
        team: &TeamName,
        id: &TaskId,
        change: &TaskChange,
        by: &Actor,
    ) -> Result<()> {
        self.on(team, |files| files.check_update(*id, change, by))
    }

    fn claim(&self, team: &TeamName, id: &TaskId, by: &Actor) -> Result<Task> {
        self.on(team, |files| files.claim(*id, by))
    }

    fn claim_next(&self, team: &TeamName, by: &Actor) -> Result<Option<Task>> {
        self.on(team, |files| files.claim_next(by))
    }

    fn release(&self, team: &TeamName, id: &TaskId, by: &Actor) -> Result<Task> {
        self.on(team, |files| files.release(*id, by))
    }

    fn delete_task(&self, team: &TeamName, id: &TaskId, by: &Actor) -> Result<Vec<Task>> {
        self.on(team, |files| files.delete_task(*id, by))
    }

    fn former_member(&self, team: &TeamName, name: &MemberName) -> Result<Option<Member>> {
        self.on(team, |files| files.former(name))
    }

    fn write_hello(&self, team: &TeamName, name: &MemberName, hello: &Hello) -> Result<()> {
        self.on(team, |files| files.write_hello(name, hello))
    }

    fn hello(&self, team: &TeamName, name: &MemberName) -> Result<Option<Hello>> {
        self.on(team, |files| files.hello(name))
    }

    fn write_rights(
        &self,
        team: &TeamName,
        name: &MemberName,
        rights: &RightsReport,
    ) -> Result<()> {
        self.on(team, |files| files.write_rights(name, rights))
    }

    fn rights(&self, team: &TeamName, name: &MemberName) -> Result<Option<RightsReport>> {
        self.on(team, |files| files.rights(name))
    }

    fn write_state(&self, team: &TeamName, name: &MemberName, state: &StateReport) -> Result<()> {
        self.on(team, |files| files.write_state(name, state))
    }

    fn state(&self, team: &TeamName, name: &MemberName) -> Result<Option<StateReport>> {
        self.on(team, |files| files.state(name))
    }

    fn set_paused(
        &self,
        team: &TeamName,
        name: &MemberName,
        mark: Option<&PauseMark>,
    ) -> Result<Option<PauseMark>> {
        self.on(team, |files| files.set_paused(name, mark))
    }

    fn paused(&self, team: &TeamName, name: &MemberName) -> Result<Option<PauseMark>> {
        self.on(team, |files| files.paused(name))
    }

    fn pause_of(&self, team: &TeamName, member: &Member) -> Result<Option<PauseMark>> {
        self.on(team, |files| files.pause_of(member))
    }

    fn liveness(&self, team: &TeamName, name: &MemberName) -> Result<Liveness> {
        self.on(team, |files| files.liveness(name))
    }

    fn life_record(&self, team: &TeamName, name: &MemberName) -> Option<LifeRecord> {
        record::read(&self.layout.team(team).life(name))
            .ok()
            .flatten()
    }

    fn names_on_disk(&self, team: &TeamName) -> Vec<MemberName> {
        let names = swarm_fs::names_in(&self.layout.team(team).members());
        let names = names.ok().flatten().unwrap_or_default().into_iter();
        names
            .filter_map(|name| MemberName::parse(name.to_str()?).ok())
            .collect()
    }

    fn look(&self, team: &TeamName) -> Result<TeamView> {
        self.on(team, TeamFiles::look)
    }

    fn open_request(&self, team: &TeamName, request: RequestRecord) -> Result<()> {
        self.on(team, |files| files.open_request(&request))
    }

    fn requests(&self, team: &TeamName) -> Result<RequestList> {
        self.on(team, TeamFiles::requests)
    }

    fn request(&self, team: &TeamName, id: &RequestId) -> Result<RequestRecord> {
        self.on(team, |files| files.request(id))
    }

    fn answer_request(
        &self,
        team: &TeamName,
        id: &RequestId,
        shown: Option<&RequestKind>,
        answer: Answer,
        by: AnsweredBy,
    ) -> Result<RequestRecord> {
        self.on(team, |files| files.answer_request(id, shown, answer, by))
    }

    fn look_up_answer(&self, team: &TeamName, asked: &RequestRecord) -> Result<AnswerLookup> {
        self.on(team, |files| files.look_up_answer(asked))
    }

    fn close_request(&self, team: &TeamName, id: &RequestId) -> Result<()> {
        self.on(team, |files| files.close_request(id))
    }

    fn journal(&self, team: &TeamName, event: Event) -> Result<()> {
        self.on(team, |files| files.record(event))
    }

    fn events_from(&self, team: &TeamName, from: u64) -> Result<Events> {
        self.on(team, |files| files.events_from(from))
    }

    fn team_folder(&self, team: &TeamName) -> PathBuf {
        self.layout.team(team).folder().to_owned()
    }

    fn inbox_folder(&self, team: &TeamName) -> PathBuf {
        self.layout.team(team).inboxes()
    }

    fn tasks_folder(&self, team: &TeamName) -> PathBuf {
        self.layout.team(team).tasks().to_owned()
    }

    fn requests_folder(&self, team: &TeamName) -> PathBuf {
        self.layout.team(team).requests()
    }

    fn member_dir(&self, team: &TeamName, name: &MemberName) -> PathBuf {
        self.layout.team(team).member(name)
    }

    fn take_life(&self, team: &TeamName, name: &MemberName, content: &[u8]) -> Result<LifeHolder> {
        self.on(team, |files| files.take_life(name, content))
    }

    fn life_path(&self, team: &TeamName, name: &MemberName) -> PathBuf {
        self.layout.team(team).life(name)
    }

    fn journal_path(&self, team: &TeamName) -> PathBuf {
        self.layout.team(team).journal()
    }
}
