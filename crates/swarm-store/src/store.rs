//! The contract between a team's state and everybody who works with it.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use swarm_os::{LifeHolder, Liveness, LockInterrupt};
use swarm_protocol::{
    Answer, AnsweredBy, BackendType, Event, Hello, InboxEntry, LeadProcess, LifeRecord, Member,
    MemberName, MessageId, NewTask, PaneId, PauseMark, PermissionMode, RequestId, RequestKind,
    RequestRecord, RightsReport, SpawnId, StateReport, Task, TaskId, TeamConfig, TeamName,
};

use crate::{
    Actor, AnswerLookup, Draft, Events, Inbox, Leftover, MemberView, NewMember, NewTeam, Posted,
    ReconcileReport, RemovedMember, RequestList, Result, TaskChange, TaskList, TaskUpdated,
    TeamDamage, TeamView,
};

/// Persistent team state below one root. One store serves all teams and all threads.
#[async_trait]
pub trait TeamStore: Send + Sync + Debug {
    /// Returns the handle of a team, which need not exist.
    fn team(&self, name: &TeamName) -> Arc<dyn Team>;

    /// Makes a team with its lead as the only member, its inboxes and its task list. The team appears whole or
    /// not at all, and an existing one is never touched.
    ///
    /// # Errors
    /// [`StoreError::TeamExists`], which tells its state; [`StoreError::TeamCollides`] when another team's directories would
    /// be the same under one of Claude Code's sanitizers; [`StoreError::TasksInTheWay`].
    async fn create_team(&self, new: NewTeam) -> Result<TeamConfig>;

    /// The names of all teams, sorted.
    async fn teams(&self) -> Result<Vec<TeamName>>;

    /// The same, and the names of directories that were teams of ours and have no roster any more.
    async fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)>;

    /// Finds what killed processes left between the files of all teams, and removes it with `clear`: directories of teams
    /// that were being made or deleted, orders that no child took, temporary files, empty directories. Tells of each
    /// whether it could be removed.
    async fn sweep(&self, clear: bool) -> Result<Vec<(Leftover, Result<()>)>>;
}

/// One team: operations on the whole of it here, the others in one trait per subject.
///
/// An asynchronous method never waits for a lock on the caller's thread. While another process holds a
/// lock, it completes later, at the latest at the store's deadline. Once begun, it runs to completion,
/// even if its future is dropped. If the team does not exist, every method that can fail returns
/// [`StoreError::TeamNotFound`].
#[async_trait]
pub trait Team:
    Roster
    + Mailbox
    + TaskBoard
    + RequestQueue
    + Journal
    + Presence
    + TeamDirectories
    + Send
    + Sync
    + Debug
{
    /// Returns its name.
    fn name(&self) -> &TeamName;

    /// Returns a handle that waits at most `at_most` for each lock.
    fn with_lock_timeout(&self, at_most: Duration) -> Arc<dyn Team>;

    /// Returns a handle whose waits for locks `interrupt` cuts short.
    fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn Team>;

    /// What is wrong with a team that cannot be used; `None` for a sound one, and where there is none.
    async fn damage(&self) -> Option<TeamDamage>;

    /// Whether another program made a team: it can be looked at, and every change is refused with
    /// [`StoreError::ForeignTeam`].
    async fn is_foreign(&self) -> bool;

    /// Ends a team: tasks and journal move to an archive whose directory is returned, or are dropped with `purge`.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] while another process than the caller's leads, even with `force`: it would go on
    /// without its team. [`StoreError::TeamBusy`] while members live or are being spawned, unless `force`.
    async fn delete(&self, purge: bool, force: bool) -> Result<Option<PathBuf>>;

    /// Whether [`Self::delete`] would refuse as things stand. Changes nothing.
    ///
    /// # Errors
    /// As there.
    async fn may_delete(&self, force: bool) -> Result<()>;

    /// Brings the records in line with who is alive: one journal event for each death, its tasks given back, one message
    /// to the lead if it was unexpected; expired reservations of dead spawners rolled back. Whoever comes second finds
    /// nothing left to do, and what a killed one left half done is finished. What was done is added to `done`, also
    /// where something else could not be done.
    ///
    /// # Errors
    /// The first of them; what it is about is found again by the next one.
    async fn reconcile_into(&self, done: &mut ReconcileReport) -> Result<()>;

    /// [`Self::reconcile_into`] for those who only want to know what was done when all of it was.
    ///
    /// # Errors
    /// As there.
    async fn reconcile(&self) -> Result<ReconcileReport> {
        let mut done = ReconcileReport::default();
        self.reconcile_into(&mut done).await.map(|()| done)
    }

    /// The roster and every member with what is known of it, in the roster's order.
    async fn look(&self) -> Result<TeamView>;

    /// The members alone.
    ///
    /// # Errors
    /// As [`Self::look`].
    async fn member_view(&self) -> Result<Vec<MemberView>> {
        Ok(self.look().await?.members)
    }
}

/// The members of a team, the process that leads it, and spawns under way.
#[async_trait]
pub trait Roster: Send + Sync {
    /// The roster as it stands.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the file is not a roster; it is left as it is.
    async fn config(&self) -> Result<TeamConfig>;

    /// Holds a place in the roster for a spawn: entry, colour, inbox with the prompt as first message. An entry of a
    /// dead member of that name is replaced, and comes back if the spawn is aborted. What this brought in line about the
    /// name before is added to `done`, also where there is no place: whoever calls looks after what that left running.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] when the name, or one that would share its files, is in use.
    async fn reserve_into(&self, new: NewMember, done: &mut ReconcileReport) -> Result<Member>;

    /// [`Self::reserve_into`] where nothing can have been left by an earlier one of that name.
    ///
    /// # Errors
    /// As there.
    async fn reserve(&self, new: NewMember) -> Result<Member> {
        self.reserve_into(new, &mut ReconcileReport::default())
            .await
    }

    /// Makes a reserved member a full one: fills in where it runs and takes the reservation away. A second commit of
    /// the same spawn changes nothing.
    ///
    /// # Errors
    /// [`StoreError::SpawnGone`] when the reservation was rolled back.
    async fn commit_spawn(
        &self,
        spawn: &SpawnId,
        pane: PaneId,
        backend: BackendType,
        socket: Option<PathBuf>,
    ) -> Result<Member>;

    /// Undoes a reservation: roster and inbox are as before it. Mail that others sent to the reserved member
    /// meanwhile is kept. Unknown and committed spawns are left alone; tells whether anything was undone.
    async fn abort_spawn(&self, spawn: &SpawnId, reason: &str) -> Result<bool>;

    /// Takes a member out of the roster and gives its open tasks back, attempts unchanged. With `spawn`, only when the
    /// entry is still of that spawn. `None` when there was nothing to remove. Its inbox stays.
    async fn remove_member(
        &self,
        name: &MemberName,
        spawn: Option<&SpawnId>,
    ) -> Result<Option<RemovedMember>>;

    /// The last entry of a name that was taken out of the roster.
    async fn former_member(&self, name: &MemberName) -> Result<Option<Member>>;

    /// Notes whether a member is in a turn (`isActive`).
    async fn set_active(&self, name: &MemberName, active: bool) -> Result<()>;

    /// Enters a directory, absolute, in which every later member of the team may use a tool (`teamAllowedPaths`).
    async fn add_allowed_path(&self, path: &str, tool: &str) -> Result<()>;

    /// Notes the permission mode that a member is in (`mode`).
    async fn set_mode(&self, name: &MemberName, mode: PermissionMode) -> Result<()>;

    /// Notes which process leads, or that none does.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] when another process that still runs has the lead.
    async fn set_lead_process(&self, lead: Option<LeadProcess>) -> Result<()>;

    /// Notes the conversation and the model of the process that leads.
    async fn set_lead_session(&self, session_id: &str, model: &str) -> Result<()>;

    /// Notes that no process leads, in place of this lead that was found lost.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] when a process leads all the same, or has taken the lead since.
    async fn clear_lost_lead(&self, lost: &LeadProcess) -> Result<()>;

    /// Marks a member's present spawn as to be paused, or takes the mark away. Returns the mark that was there; one that
    /// is there already is kept.
    ///
    /// # Errors
    /// [`StoreError::MemberNotFound`], and [`StoreError::SpawnGone`] when the mark is for another spawn.
    async fn set_paused(
        &self,
        name: &MemberName,
        mark: Option<&PauseMark>,
    ) -> Result<Option<PauseMark>>;
}

/// The inboxes of the members.
#[async_trait]
pub trait Mailbox: Send + Sync {
    /// Puts a message into a member's inbox. It is on disk on return, unread.
    ///
    /// # Errors
    /// [`StoreError::MemberNotFound`], which lists the known names; [`StoreError::InboxFull`];
    /// [`StoreError::MessageTooLarge`].
    async fn post(&self, to: &MemberName, draft: Draft) -> Result<Posted>;

    /// [`Self::post`] to several members side by side, each with a message of its own. Returns the outcomes in the same order:
    /// a member that cannot be written to keeps no other from getting its message.
    ///
    /// # Errors
    /// When the roster cannot be read; nothing was sent then.
    async fn post_all(&self, letters: &[(MemberName, Draft)]) -> Result<Vec<Result<Posted>>>;

    /// [`Self::post`] for those who only want the id.
    ///
    /// # Errors
    /// As there.
    async fn send(&self, to: &MemberName, draft: Draft) -> Result<MessageId> {
        Ok(self.post(to, draft).await?.msg_id)
    }

    /// An inbox as it stands; changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the file is no inbox at all; it is left as it is.
    async fn inbox(&self, name: &MemberName) -> Result<Inbox>;

    /// The same while nobody writes: what its writers enter in the journal is there on return.
    ///
    /// # Errors
    /// As [`Self::inbox`].
    async fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox>;

    /// Messages that were acknowledged and moved out of the inbox, oldest first. One may also still be in the inbox. Lines
    /// that are no message are left out.
    ///
    /// # Errors
    /// When the archive cannot be read.
    async fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>>;

    /// The unread entries, oldest first, each with an id. Nothing is marked read, so the same entries come again
    /// until they are acknowledged. Elements that are no entries are set aside and entered in the journal.
    async fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>>;

    /// Acknowledges entries and moves old ones beyond the bound to the archive. Returns the ids that were unread
    /// until this call: of two readers that acknowledge the same entry, one gets its id.
    async fn ack(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;

    /// The same by somebody who is not the receiver, as long as no program is.
    ///
    /// # Errors
    /// [`StoreError::ReadByProgram`] while the receiver lives or is being started: it would never see them.
    async fn ack_by_hand(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;

    /// Notes that entries are in the receiver's durable transcript: enters that in the journal, and acknowledges them
    /// after it. Entries that are acknowledged already are left alone; returns the ids of the others.
    async fn delivered(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;
}

/// The task list.
#[async_trait]
pub trait TaskBoard: Send + Sync {
    /// Makes tasks in the order given, all or none, even if the process is killed half-way. Their numbers are
    /// consecutive, so a blocker may also be a task of the same call.
    ///
    /// # Errors
    /// [`StoreError::TaskNotFound`] for an unknown blocker, [`StoreError::Cycle`].
    async fn create_tasks(&self, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>>;

    /// The whole list by number, and the files in it that are no tasks.
    async fn tasks(&self) -> Result<TaskList>;

    /// One task.
    async fn task(&self, id: &TaskId) -> Result<Task>;

    /// Changes a task. A task that becomes completed names the tasks that it unblocked; the caller wakes their
    /// owners.
    ///
    /// # Errors
    /// [`StoreError::Blocked`], [`StoreError::NotYours`], [`StoreError::TaskFailed`], [`StoreError::TaskResolved`],
    /// [`StoreError::Cycle`], [`StoreError::TaskNotFound`].
    async fn update_task(&self, id: &TaskId, change: TaskChange, by: &Actor)
    -> Result<TaskUpdated>;

    /// Whether [`Self::update_task`] could make this change now; nothing is written.
    ///
    /// # Errors
    /// As there.
    async fn check_update(&self, id: &TaskId, change: &TaskChange, by: &Actor) -> Result<()>;

    /// Makes the actor the owner and the task `in_progress`, if it is free. Claiming what the same spawn already has
    /// changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Taken`], [`StoreError::Blocked`], [`StoreError::TaskFailed`], [`StoreError::TaskResolved`].
    async fn claim(&self, id: &TaskId, by: &Actor) -> Result<Task>;

    /// Claims the lowest-numbered free task: first those assigned to the actor, then those of nobody. `None` when
    /// there is none.
    async fn claim_next(&self, by: &Actor) -> Result<Option<Task>>;

    /// Gives a task back: pending, without owner, no longer failed.
    ///
    /// # Errors
    /// [`StoreError::NotYours`], [`StoreError::TaskResolved`].
    async fn release(&self, id: &TaskId, by: &Actor) -> Result<Task>;

    /// Deletes a task and every edge to it. Returns the tasks that are unblocked by that. Its number is never used
    /// again.
    async fn delete_task(&self, id: &TaskId, by: &Actor) -> Result<Vec<Task>>;
}

/// The requests that wait for a person.
#[async_trait]
pub trait RequestQueue: Send + Sync {
    /// Puts a request into the queue, gives it its number, and returns it.
    ///
    /// # Errors
    /// [`StoreError::BadRequestId`], [`StoreError::RequestExists`].
    async fn open_request(&self, request: RequestRecord) -> Result<RequestRecord>;

    /// The requests on file, oldest first, open and answered ones.
    async fn requests(&self) -> Result<RequestList>;

    /// One request.
    async fn request(&self, id: &RequestId) -> Result<RequestRecord>;

    /// Answers a request. Exactly one answer wins. With `shown`, the call that a person saw, only a request for that call
    /// is answered.
    ///
    /// # Errors
    /// [`StoreError::RequestAnswered`] with the answer that won, [`StoreError::RequestNotFound`],
    /// [`StoreError::RequestChanged`].
    async fn answer_request(
        &self,
        id: &RequestId,
        shown: Option<&RequestKind>,
        answer: Answer,
        by: AnsweredBy,
    ) -> Result<RequestRecord>;

    /// Looks for the answer to a request that was asked. One that is on file and that no command has entered in the journal
    /// is taken out again.
    ///
    /// # Errors
    /// [`StoreError::RequestNotFound`], [`StoreError::Damaged`].
    async fn look_up_answer(&self, asked: &RequestRecord) -> Result<AnswerLookup>;

    /// Takes a request out of the queue once its answer has been heard. One that is gone already is fine.
    async fn close_request(&self, id: &RequestId) -> Result<()>;
}

/// The record of what happened in a team.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Enters an event; it is on disk on return.
    async fn journal(&self, event: Event) -> Result<()>;

    /// All events, oldest first. Lines that cannot be read are reported beside them.
    async fn events(&self) -> Result<Events> {
        self.events_from(0).await
    }

    /// The events that were entered after the position `from`, which is [`Events::next`] of an earlier call or 0.
    /// A last line that is not complete yet is left for the next call.
    async fn events_from(&self, from: u64) -> Result<Events>;
}

/// What members report about themselves, and whether they live.
#[async_trait]
pub trait Presence: Send + Sync {
    /// Writes `hello.json`; only the member itself does.
    async fn write_hello(&self, name: &MemberName, hello: &Hello) -> Result<()>;

    /// The last hello, possibly of an earlier spawn.
    async fn hello(&self, name: &MemberName) -> Result<Option<Hello>>;

    /// Writes `rights.json`; only the member itself does.
    async fn write_rights(&self, name: &MemberName, rights: &RightsReport) -> Result<()>;

    /// Writes the plan of a member's spawn and returns its path. An earlier plan of the spawn is replaced.
    async fn write_plan(&self, name: &MemberName, spawn: SpawnId, plan: &str) -> Result<PathBuf>;

    /// The last rights that a member wrote down, possibly of an earlier spawn.
    async fn rights(&self, name: &MemberName) -> Result<Option<RightsReport>>;

    /// Writes `state.json`; only the member itself does.
    async fn write_state(&self, name: &MemberName, state: &StateReport) -> Result<()>;

    /// The last state report, possibly of an earlier spawn.
    async fn state(&self, name: &MemberName) -> Result<Option<StateReport>>;

    /// The mark of the member's present spawn, if it is to be paused.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the mark cannot be read; it is left as it is.
    async fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>>;

    /// The same for a member whose place in the roster is known.
    async fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>>;

    /// Whether the member's present spawn lives, by its life lock.
    async fn liveness(&self, name: &MemberName) -> Result<Liveness>;

    /// What a member's life file says, where there is one that can be read. Whether that process lives is another question.
    async fn life_record(&self, name: &MemberName) -> Option<LifeRecord>;

    /// The names of everybody who has files there, whether in the roster or not.
    async fn names_on_disk(&self) -> Vec<MemberName>;

    /// Takes a member's life lock for this process, see [`LifeHolder::take`], and puts `content` into its file. In a
    /// team of which a directory is a link it is refused.
    async fn take_life(&self, name: &MemberName, content: &[u8]) -> Result<LifeHolder>;
}

/// Where the files of a team are.
pub trait TeamDirectories {
    /// The team's directory, which holds `config.json`.
    fn team_directory(&self) -> PathBuf;

    /// The directory of the inboxes; a member's is `<name>.json` in it.
    fn inbox_directory(&self) -> PathBuf;

    /// The directory of the task files.
    fn tasks_directory(&self) -> PathBuf;

    /// The directory of the requests.
    fn requests_directory(&self) -> PathBuf;

    /// The directory of a member's own files.
    fn member_dir(&self, name: &MemberName) -> PathBuf;

    /// The file that a member locks for as long as it lives.
    fn life_path(&self, name: &MemberName) -> PathBuf;

    /// The journal's file.
    fn journal_path(&self) -> PathBuf;
}
