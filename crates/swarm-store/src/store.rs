//! Traits of the store.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use swarm_os::process::Identity;
use swarm_os::{DirectoryWatcher, Liveness, LockInterrupt};
use swarm_protocol::{
    BlobRef, Budget, BudgetScope, Budgets, CostRecord, Event, Hello, InboxEntry, JournalEntry,
    LifeRecord, Member, MemberName, MessageId, NewTask, PauseMark, PublishedBranch, RightsReport,
    RunBudget, SpawnId, StateReport, Task, TaskId, TeamConfig, TeamName,
};

use crate::{
    Actor, Changes, Cursor, Draft, Events, Inbox, JournalLines, Lease, LeaseEnd, Leftover,
    MemberView, NewTeam, Orders, Posted, ReconcileReport, RequestQueue, Result, Roster, Spawns,
    TaskChange, TaskList, TaskUpdated, TeamDamage, TeamView, Topic, Undelivered,
};

/// Persistent team state below one root. One store serves all teams and all threads.
#[async_trait]
pub trait TeamStore: Send + Sync + Debug {
    /// Returns the handle of a team, which need not exist.
    fn team(&self, name: &TeamName) -> Arc<dyn Team>;

    /// Returns the store with waits for locks that `interrupt` cuts short.
    fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn TeamStore>;

    /// Creates a team with its lead as the only member, its inboxes and its task list. Creation is
    /// atomic, and an existing team is never changed.
    ///
    /// # Errors
    /// [`StoreError::TeamExists`], which describes its state; [`StoreError::TeamCollides`] if
    /// another team would have the same directories under one of Claude Code's sanitizers;
    /// [`StoreError::TasksInTheWay`].
    async fn create_team(&self, new: NewTeam) -> Result<TeamConfig>;

    /// Returns the names of all teams, sorted.
    async fn teams(&self) -> Result<Vec<TeamName>>;

    /// Returns the names of all teams, and of directories that were swarm teams but have lost their
    /// roster.
    async fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)>;

    /// Finds leftovers of killed processes among the files of all teams, and removes them with
    /// `clear`: directories of partially created or deleted teams, order files without a child,
    /// temporary files, empty directories. Returns for each whether it could be removed.
    async fn sweep(&self, clear: bool) -> Result<Vec<(Leftover, Result<()>)>>;
}

/// One team. This trait has the operations on the whole team; the others are in one trait per
/// subject.
///
/// An asynchronous method never waits for a lock on the caller's thread. While another process
/// holds a lock, it completes later, at the latest at the store's deadline. Once begun, it runs to
/// completion, even if its future is dropped. If the team does not exist, every method that can
/// fail returns [`StoreError::TeamNotFound`].
#[async_trait]
pub trait Team:
    Roster
    + Spawns
    + Mailbox
    + TaskBoard
    + RequestQueue
    + Journal
    + Accounts
    + Presence
    + Leases
    + Exchange
    + Send
    + Sync
    + Debug
{
    /// Returns its name.
    fn name(&self) -> &TeamName;

    /// Returns where the team is stored, for people: its directory, or the URL of its hub followed
    /// by its name.
    fn location(&self) -> String;

    /// Returns what tells the processes of this team from those of a copy of it.
    fn identity(&self) -> Identity;

    /// Returns whether anything is stored under the team's name, even if it is not usable as a
    /// team.
    async fn is_stored(&self) -> Result<bool>;

    /// Watches a topic, which need not exist. **Watch before the first read**, otherwise a change
    /// in between is only noticed late. A kind that watches files uses `watcher`, the only one of
    /// the process.
    fn watch(&self, watcher: &DirectoryWatcher, topic: &Topic) -> Changes;

    /// Returns a handle that waits at most `at_most` for each lock.
    fn with_lock_timeout(&self, at_most: Duration) -> Arc<dyn Team>;

    /// Returns the damage of an unusable team; `None` if the team is intact or does not exist.
    async fn damage(&self) -> Option<TeamDamage>;

    /// Returns whether operations wait for a server on another machine.
    fn is_remote(&self) -> bool;

    /// Returns how many bytes the server of such a team has sent to this process. While it answers, there
    /// are more in every five seconds.
    fn received(&self) -> u64;

    /// Returns the orders for nodes; `None` for a kind without a server, which has no nodes.
    fn orders(&self) -> Option<Orders>;

    /// Returns whether another machine created the team, and this one has joined it.
    fn is_joined(&self) -> bool;

    /// Returns whether another program created the team. It is then read-only: every change fails
    /// with [`StoreError::ForeignTeam`].
    async fn is_foreign(&self) -> bool;

    /// Prepares a team of another program for changes by swarm: adds swarm's private directory.
    /// Does nothing for other teams.
    async fn adopt(&self) -> Result<()>;

    /// Returns whether the team was created by another program and then adopted.
    async fn is_adopted(&self) -> Result<bool>;

    /// Deletes the team: tasks and journal move to an archive whose directory is returned, or are
    /// deleted with `purge`.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] while another process leads the team, even with `force`.
    /// [`StoreError::TeamBusy`] while members are running or being spawned, unless `force`.
    async fn delete(&self, purge: bool, force: bool) -> Result<Option<PathBuf>>;

    /// Checks whether [`Self::delete`] would succeed now. Changes nothing.
    ///
    /// # Errors
    /// The same errors.
    async fn may_delete(&self, force: bool) -> Result<()>;

    /// Reconciles the records with the running processes: each death gets one journal event, its
    /// tasks are released, and an unexpected one is reported to the lead; expired reservations of
    /// dead spawners are rolled back; a lead process that has reported its end leaves the roster.
    /// Concurrent calls do the work once, and an interrupted call is completed by the next. Completed
    /// work is added to `done`, even if another step fails.
    ///
    /// # Errors
    /// The first failure; the failed step is retried by the next call.
    async fn reconcile_into(&self, done: &mut ReconcileReport) -> Result<()>;

    /// Like [`Self::reconcile_into`], but returns the report only on success.
    ///
    /// # Errors
    /// The same errors.
    async fn reconcile(&self) -> Result<ReconcileReport> {
        let mut done = ReconcileReport::default();
        self.reconcile_into(&mut done).await.map(|()| done)
    }

    /// Returns the roster and the current state of every member, in roster order.
    async fn view(&self) -> Result<TeamView>;

    /// Returns the members only.
    ///
    /// # Errors
    /// As [`Self::view`].
    async fn member_view(&self) -> Result<Vec<MemberView>> {
        Ok(self.view().await?.members)
    }
}

/// The inboxes of the members.
#[async_trait]
pub trait Mailbox: Send + Sync {
    /// Sends a message to a member's inbox. It is on disk on return.
    ///
    /// # Errors
    /// [`StoreError::MemberNotFound`], which lists the known names; [`StoreError::InboxFull`];
    /// [`StoreError::MessageTooLarge`].
    async fn post(&self, to: &MemberName, draft: Draft) -> Result<Posted>;

    /// Sends a separate message to each of several members. Returns the results in the same order;
    /// a failure for one member does not affect the others.
    ///
    /// # Errors
    /// If the roster cannot be read; nothing was sent then.
    async fn post_all(&self, letters: &[(MemberName, Draft)]) -> Result<Vec<Result<Posted>>>;

    /// Like [`Self::post`], but returns only the ID.
    ///
    /// # Errors
    /// The same errors.
    async fn send(&self, to: &MemberName, draft: Draft) -> Result<MessageId> {
        Ok(self.post(to, draft).await?.msg_id)
    }

    /// Reads an inbox without changing it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the file is not an inbox; it is left unchanged.
    async fn inbox(&self, name: &MemberName) -> Result<Inbox>;

    /// Reads an inbox with its lock held, so that the journal events of its writers exist on
    /// return.
    ///
    /// # Errors
    /// As [`Self::inbox`].
    async fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox>;

    /// Returns archived acknowledged messages, oldest first. One may also still be in the inbox.
    /// Invalid lines are skipped.
    ///
    /// # Errors
    /// If the archive cannot be read.
    async fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>>;

    /// Returns the unread entries, oldest first, each with an ID. They are returned again until
    /// they are acknowledged. Malformed elements are moved to an archive and recorded in the
    /// journal.
    async fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>>;

    /// Acknowledges entries and archives old ones beyond the limit. Returns the ids that were
    /// unread until this call: of two readers that acknowledge the same entry, one gets its id.
    async fn ack(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;

    /// Acknowledges entries on behalf of a receiver that is not running.
    ///
    /// # Errors
    /// [`StoreError::ReadByProgram`] while the receiver is running or being started: it would never
    /// see the messages.
    async fn ack_on_behalf(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;

    /// Records in the journal that entries are in the receiver's durable transcript, then
    /// acknowledges them. Skips acknowledged entries; returns the IDs of the others.
    async fn delivered(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;
}

/// The task list. A change that assigns or unblocks tasks also notifies their owners, or the lead
/// of unblocked tasks without an owner: once, even if the process is killed in between.
#[async_trait]
pub trait TaskBoard: Send + Sync {
    /// Creates tasks in the given order, atomically even if the process is killed. Their numbers
    /// are consecutive, so a blocker may also be a task of the same call. Their owners are notified
    /// by [`Self::announce_tasks`], because hooks may still refuse them.
    ///
    /// # Errors
    /// [`StoreError::TaskNotFound`] for an unknown blocker, [`StoreError::Cycle`].
    async fn create_tasks(&self, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>>;

    /// Returns the task list, ordered by number, and the invalid files in it.
    async fn tasks(&self) -> Result<TaskList>;

    /// Returns one task.
    async fn task(&self, id: &TaskId) -> Result<Task>;

    /// Changes a task. Completing a task returns the tasks that it unblocked.
    ///
    /// # Errors
    /// [`StoreError::Blocked`], [`StoreError::NotYours`], [`StoreError::TaskFailed`], [`StoreError::Unchecked`],
    /// [`StoreError::TaskResolved`], [`StoreError::Cycle`], [`StoreError::TaskNotFound`].
    async fn update_task(&self, id: &TaskId, change: TaskChange, by: &Actor)
    -> Result<TaskUpdated>;

    /// Checks whether [`Self::update_task`] would succeed now; nothing is written.
    ///
    /// # Errors
    /// The same errors.
    async fn check_update(&self, id: &TaskId, change: &TaskChange, by: &Actor) -> Result<()>;

    /// Sets the actor as owner and the status `in_progress`, if the task is free. Idempotent for
    /// the same spawn.
    ///
    /// # Errors
    /// [`StoreError::Taken`], [`StoreError::Blocked`], [`StoreError::TaskFailed`],
    /// [`StoreError::TaskResolved`].
    async fn claim(&self, id: &TaskId, by: &Actor) -> Result<Task>;

    /// Claims the lowest-numbered free task: tasks assigned to the actor first, then tasks without
    /// an owner. `None` if there is none.
    async fn claim_next(&self, by: &Actor) -> Result<Option<Task>>;

    /// Releases a task: pending, without an owner, no longer failed.
    ///
    /// # Errors
    /// [`StoreError::NotYours`], [`StoreError::TaskResolved`].
    async fn release(&self, id: &TaskId, by: &Actor) -> Result<Task>;

    /// Deletes a task and every edge to it. Returns the tasks that this unblocks. Its number is
    /// never reused.
    ///
    /// # Errors
    /// [`StoreError::ChecksOfOther`] for an owner whose task has checks that another actor set.
    async fn delete_task(&self, id: &TaskId, by: &Actor) -> Result<Vec<Task>>;

    /// Notifies the owners of new tasks that are not blocked.
    ///
    /// # Errors
    /// [`StoreError::TaskNotFound`].
    async fn announce_tasks(&self, ids: &[TaskId], by: &Actor) -> Result<()>;

    /// Returns the members whose inboxes were not usable when they were to be notified of changes,
    /// and those whom the process that made a change has not notified. Later changes try again.
    async fn undelivered(&self) -> Vec<Undelivered>;
}

/// The record of what happened in a team.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends an event; it is on disk on return.
    async fn journal(&self, event: Event) -> Result<()>;

    /// Returns all events, oldest first, and the invalid lines.
    async fn events(&self) -> Result<Events> {
        self.events_from(Cursor::default()).await
    }

    /// Returns the events after `from`, which is [`JournalLines::next`] of an earlier call or the
    /// beginning. An incomplete last line is left for the next call.
    async fn events_from(&self, from: Cursor) -> Result<Events>;

    /// Returns the events whose record contains `text`, oldest first. Other records are not parsed.
    async fn events_with(&self, text: &str) -> Result<Vec<JournalEntry>>;

    /// Returns a position that later events follow, without reading events. On a hub, events of the
    /// last seconds may follow it too: the hub is only asked before anything was heard from it.
    async fn journal_end(&self) -> Result<Cursor>;
}

/// What the team's model requests cost, and its budgets.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Appends the costs of model requests. They are on disk on return.
    async fn record_costs(&self, records: &[CostRecord]) -> Result<()>;

    /// Returns the costs after `from`, as [`Journal::events_from`].
    async fn costs_from(&self, from: Cursor) -> Result<JournalLines<CostRecord>>;

    /// Returns the budgets.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the file cannot be parsed; it is left unchanged.
    async fn budgets(&self) -> Result<Budgets>;

    /// Sets or removes a budget.
    async fn set_budget(&self, scope: &BudgetScope, budget: Option<Budget>) -> Result<()>;

    /// Sets or removes the budget of the current run.
    async fn set_run_budget(&self, run: Option<RunBudget>) -> Result<()>;
}

/// Reports of members, and their files on this machine.
#[async_trait]
pub trait Presence: Send + Sync {
    /// Writes `hello.json`; only the member itself does.
    async fn write_hello(&self, name: &MemberName, hello: &Hello) -> Result<()>;

    /// Returns the last hello, possibly of an earlier spawn.
    async fn hello(&self, name: &MemberName) -> Result<Option<Hello>>;

    /// Writes `rights.json`; only the member itself does.
    async fn write_rights(&self, name: &MemberName, rights: &RightsReport) -> Result<()>;

    /// Writes the plan of a member's spawn and returns its path. An earlier plan of the spawn is
    /// replaced.
    async fn write_plan(&self, name: &MemberName, spawn: SpawnId, plan: &str) -> Result<PathBuf>;

    /// Returns the last rights report, possibly of an earlier spawn.
    async fn rights(&self, name: &MemberName) -> Result<Option<RightsReport>>;

    /// Writes `state.json`; only the member itself does.
    async fn write_state(&self, name: &MemberName, state: &StateReport) -> Result<()>;

    /// Returns the last state report, possibly of an earlier spawn.
    async fn state(&self, name: &MemberName) -> Result<Option<StateReport>>;

    /// Returns the pause mark of the member's current spawn, if any.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the mark cannot be read; it is left unchanged.
    async fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>>;

    /// Like [`Self::paused`], for a known roster entry.
    async fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>>;

    /// Returns the directory on this machine for the files of a member's process, such as its
    /// output. It exists from the reservation of the member until the team is deleted.
    fn local_directory(&self, name: &MemberName) -> PathBuf;

    /// Returns the names of all members with files on this machine, in the roster or not. No server
    /// is asked.
    async fn names_on_disk(&self) -> Result<Vec<MemberName>>;
}

/// Leases: which members are alive.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Returns whether the member's current spawn is alive, according to its lease.
    async fn liveness(&self, name: &MemberName) -> Result<Liveness>;

    /// Returns the state of a member's lease, regardless of its holder and of whether the roster
    /// can be read.
    async fn lease(&self, name: &MemberName) -> Result<Liveness>;

    /// Returns what resolves when a member's lease is released, and immediately if nobody holds it.
    /// A successor may take the lease first; look at [`Self::lease`] afterwards.
    ///
    /// # Errors
    /// If the record of the lease is gone or cannot be read.
    fn lease_end(&self, name: &MemberName) -> LeaseEnd;

    /// Ends the lease of a spawn whose process is dead, for a kind that would notice that later.
    /// Does nothing if another spawn holds it.
    async fn end_lease(&self, name: &MemberName, spawn: &SpawnId) -> Result<()>;

    /// Returns the record of the last holder of a member's lease, if readable. It does not show
    /// whether the process is alive.
    async fn life_record(&self, name: &MemberName) -> Option<LifeRecord>;

    /// Returns the record of a process that has lost a member's lease on a server, if it still exists.
    async fn parked_process(&self, name: &MemberName) -> Option<LifeRecord>;

    /// Returns the record of the last holder of a member's lease on this machine, if readable. No
    /// server is asked.
    async fn life_record_here(&self, name: &MemberName) -> Option<LifeRecord>;

    /// Takes a member's lease for this process, as described by `record`. The member counts as
    /// alive until the lease is dropped or the process is dead.
    ///
    /// # Errors
    /// [`StoreError::LeaseHeld`] if another process holds it.
    async fn take_life(&self, name: &MemberName, record: &LifeRecord) -> Result<Lease>;
}

/// Large values and branches, which members on several machines exchange.
#[async_trait]
pub trait Exchange: Send + Sync {
    /// Stores a large value. If this fails, nothing is stored. On a hub, it is deleted a day later
    /// unless a published branch names it ([`crate::StoreLimits::keep_unnamed_blobs`]).
    ///
    /// # Errors
    /// [`StoreError::BlobTooLarge`].
    async fn put_blob(&self, content: Vec<u8>) -> Result<BlobRef>;

    /// Returns a large value; `None` if it was deleted.
    async fn blob(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>>;

    /// Deletes a large value. Does nothing if it was deleted.
    async fn delete_blob(&self, blob: &BlobRef) -> Result<()>;

    /// Publishes the branch of a member in place of the one that it published before, whose bundle
    /// is deleted if it is not the new one's. What was noted as merged remains; that of `branch` is
    /// not used.
    async fn publish_branch(&self, branch: &PublishedBranch) -> Result<()>;

    /// Notes that a commit of a member's published work was merged, for the machine that has its
    /// worktree. Does nothing if the member has published nothing.
    async fn note_merged(&self, member: &MemberName, commit: &str) -> Result<()>;

    /// Returns the published branches, by member.
    async fn published_branches(&self) -> Result<Vec<PublishedBranch>>;
}
