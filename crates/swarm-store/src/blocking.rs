//! Synchronous versions of the store's traits, which block the calling thread.
//!
//! All synchronous calls go through [`wait`]. In a process with an asynchronous runtime it must not
//! run on a thread that has other work, because it waits for locks that other programs hold. Such
//! code uses [`Team::asynchronous`].

use std::fmt::Debug;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use swarm_os::{LifeHolder, Liveness, LockInterrupt};
use swarm_protocol::{
    Answer, AnsweredBy, BackendType, Budget, BudgetScope, Budgets, CostRecord, Event, Grant, Hello,
    InboxEntry, LeadProcess, LifeRecord, Member, MemberName, MessageId, NewTask, PaneId, PauseMark,
    PermissionMode, RequestId, RequestKind, RequestRecord, RightsReport, RunBudget, SpawnId,
    StateReport, Task, TaskId, TeamConfig, TeamName,
};

use crate::{
    Actor, AnswerLookup, Draft, Events, Inbox, JournalLines, Leftover, MemberView, NewMember,
    NewTeam, Posted, ReconcileReport, RemovedMember, RequestList, Result, TaskChange, TaskList,
    TaskUpdated, TeamDamage, TeamView, VerifyKey,
};

/// Waits for a future on this thread. Only for store operations: a future that uses a timer or a
/// socket needs a runtime.
pub fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A team for synchronous callers.
#[derive(Debug, Clone)]
struct BlockingTeam(Arc<dyn crate::Team>);

/// Declares the operations once, for the trait and for the implementation that waits for the
/// asynchronous ones.
macro_rules! operations {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $returned:ty;)*) => {
        /// One team, whose operations block the calling thread. They are those of [`crate::Team`]
        /// and its parts, with the same errors.
        pub trait Team: Send + Sync + Debug {
            /// Returns the asynchronous handle of the team.
            fn asynchronous(&self) -> &Arc<dyn crate::Team>;

            /// See [`crate::Team::with_lock_timeout`].
            fn with_lock_timeout(&self, at_most: Duration) -> Arc<dyn Team>;

            /// See [`crate::Team::with_lock_interrupt`].
            fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn Team>;

            /// Returns the team's name.
            fn name(&self) -> &TeamName {
                self.asynchronous().name()
            }

            /// See [`crate::TeamDirectories::team_directory`].
            fn team_directory(&self) -> PathBuf {
                self.asynchronous().team_directory()
            }

            /// See [`crate::TeamDirectories::inbox_directory`].
            fn inbox_directory(&self) -> PathBuf {
                self.asynchronous().inbox_directory()
            }

            /// See [`crate::TeamDirectories::tasks_directory`].
            fn tasks_directory(&self) -> PathBuf {
                self.asynchronous().tasks_directory()
            }

            /// See [`crate::TeamDirectories::requests_directory`].
            fn requests_directory(&self) -> PathBuf {
                self.asynchronous().requests_directory()
            }

            /// See [`crate::TeamDirectories::member_dir`].
            fn member_dir(&self, name: &MemberName) -> PathBuf {
                self.asynchronous().member_dir(name)
            }

            /// See [`crate::TeamDirectories::life_path`].
            fn life_path(&self, name: &MemberName) -> PathBuf {
                self.asynchronous().life_path(name)
            }

            /// See [`crate::TeamDirectories::journal_path`].
            fn journal_path(&self) -> PathBuf {
                self.asynchronous().journal_path()
            }

            $(
                #[doc = concat!("Waits for the asynchronous `", stringify!($name), "`.")]
                fn $name(&self, $($argument: $type),*) -> $returned {
                    wait(self.asynchronous().$name($($argument),*))
                }
            )*
        }
    };
}

operations! {
        fn damage() -> Option<TeamDamage>;
        fn is_foreign() -> bool;
        fn adopt() -> Result<()>;
        fn is_adopted() -> Result<bool>;
        fn add_external(name: &MemberName, cwd: &Path) -> Result<Member>;
        fn delete(purge: bool, force: bool) -> Result<Option<PathBuf>>;
        fn may_delete(force: bool) -> Result<()>;
        fn reconcile_into(done: &mut ReconcileReport) -> Result<()>;
        fn reconcile() -> Result<ReconcileReport>;
        fn view() -> Result<TeamView>;
        fn member_view() -> Result<Vec<MemberView>>;
        fn config() -> Result<TeamConfig>;
        fn reserve_into(new: NewMember, done: &mut ReconcileReport) -> Result<Member>;
        fn reserve(new: NewMember) -> Result<Member>;
        fn commit_spawn(spawn: &SpawnId, pane: PaneId, backend: BackendType, socket: Option<PathBuf>) -> Result<Member>;
        fn abort_spawn(spawn: &SpawnId, reason: &str) -> Result<bool>;
        fn remove_member(name: &MemberName, spawn: Option<&SpawnId>) -> Result<Option<RemovedMember>>;
        fn former_member(name: &MemberName) -> Result<Option<Member>>;
        fn set_active(name: &MemberName, active: bool) -> Result<()>;
        fn add_allowed_path(path: &str, tool: &str) -> Result<()>;
        fn set_mode(name: &MemberName, mode: PermissionMode) -> Result<()>;
        fn set_lead_process(lead: Option<LeadProcess>) -> Result<()>;
        fn set_lead_session(session_id: &str, model: &str) -> Result<()>;
        fn clear_lost_lead(lost: &LeadProcess) -> Result<()>;
        fn set_paused(name: &MemberName, mark: Option<&PauseMark>) -> Result<Option<PauseMark>>;
        fn post(to: &MemberName, draft: Draft) -> Result<Posted>;
        fn post_all(letters: &[(MemberName, Draft)]) -> Result<Vec<Result<Posted>>>;
        fn send(to: &MemberName, draft: Draft) -> Result<MessageId>;
        fn inbox(name: &MemberName) -> Result<Inbox>;
        fn inbox_at_rest(name: &MemberName) -> Result<Inbox>;
        fn archived_mail(name: &MemberName) -> Result<Vec<InboxEntry>>;
        fn take_unread(name: &MemberName) -> Result<Vec<InboxEntry>>;
        fn ack(name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;
        fn ack_on_behalf(name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;
        fn delivered(name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>>;
        fn create_tasks(new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>>;
        fn tasks() -> Result<TaskList>;
        fn task(id: &TaskId) -> Result<Task>;
        fn update_task(id: &TaskId, change: TaskChange, by: &Actor) -> Result<TaskUpdated>;
        fn check_update(id: &TaskId, change: &TaskChange, by: &Actor) -> Result<()>;
        fn claim(id: &TaskId, by: &Actor) -> Result<Task>;
        fn claim_next(by: &Actor) -> Result<Option<Task>>;
        fn release(id: &TaskId, by: &Actor) -> Result<Task>;
        fn delete_task(id: &TaskId, by: &Actor) -> Result<Vec<Task>>;
        fn open_request(request: RequestRecord) -> Result<RequestRecord>;
        fn requests() -> Result<RequestList>;
        fn request(id: &RequestId) -> Result<RequestRecord>;
        fn answer_request(id: &RequestId, shown: Option<&RequestKind>, answer: Answer, by: AnsweredBy) -> Result<RequestRecord>;
        fn look_up_answer(asked: &RequestRecord, key: Option<&VerifyKey>) -> Result<AnswerLookup>;
        fn verify_key() -> Result<Option<VerifyKey>>;
        fn signed(grant: &Grant, by: AnsweredBy) -> Result<AnsweredBy>;
        fn close_request(id: &RequestId) -> Result<()>;
        fn journal(event: Event) -> Result<()>;
        fn events() -> Result<Events>;
        fn events_from(from: u64) -> Result<Events>;
        fn record_costs(records: &[CostRecord]) -> Result<()>;
        fn costs_from(from: u64) -> Result<JournalLines<CostRecord>>;
        fn budgets() -> Result<Budgets>;
        fn set_budget(scope: &BudgetScope, budget: Budget) -> Result<()>;
        fn set_run_budget(run: Option<RunBudget>) -> Result<()>;
        fn write_hello(name: &MemberName, hello: &Hello) -> Result<()>;
        fn hello(name: &MemberName) -> Result<Option<Hello>>;
        fn write_rights(name: &MemberName, rights: &RightsReport) -> Result<()>;
        fn write_plan(name: &MemberName, spawn: SpawnId, plan: &str) -> Result<PathBuf>;
        fn rights(name: &MemberName) -> Result<Option<RightsReport>>;
        fn write_state(name: &MemberName, state: &StateReport) -> Result<()>;
        fn state(name: &MemberName) -> Result<Option<StateReport>>;
        fn paused(name: &MemberName) -> Result<Option<PauseMark>>;
        fn pause_of(member: &Member) -> Result<Option<PauseMark>>;
        fn liveness(name: &MemberName) -> Result<Liveness>;
        fn life_record(name: &MemberName) -> Option<LifeRecord>;
        fn names_on_disk() -> Vec<MemberName>;
        fn take_life(name: &MemberName, content: &[u8]) -> Result<LifeHolder>;
}

impl Team for BlockingTeam {
    fn asynchronous(&self) -> &Arc<dyn crate::Team> {
        &self.0
    }

    fn with_lock_timeout(&self, at_most: Duration) -> Arc<dyn Team> {
        Arc::new(Self(self.0.with_lock_timeout(at_most)))
    }

    fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn Team> {
        Arc::new(Self(self.0.with_lock_interrupt(interrupt)))
    }
}

/// [`crate::TeamStore`] for synchronous callers.
pub trait TeamStore: Send + Sync + Debug {
    /// Returns the asynchronous store.
    fn asynchronous(&self) -> &dyn crate::TeamStore;

    /// Returns the handle of a team, which need not exist.
    fn team(&self, name: &TeamName) -> Arc<dyn Team> {
        Arc::new(BlockingTeam(self.asynchronous().team(name)))
    }

    /// Waits for [`crate::TeamStore::create_team`].
    ///
    /// # Errors
    /// As there.
    fn create_team(&self, new: NewTeam) -> Result<TeamConfig> {
        wait(self.asynchronous().create_team(new))
    }

    /// Waits for [`crate::TeamStore::teams`].
    ///
    /// # Errors
    /// As there.
    fn teams(&self) -> Result<Vec<TeamName>> {
        wait(self.asynchronous().teams())
    }

    /// Waits for [`crate::TeamStore::teams_and_remains`].
    ///
    /// # Errors
    /// As there.
    fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        wait(self.asynchronous().teams_and_remains())
    }

    /// Waits for [`crate::TeamStore::sweep`].
    ///
    /// # Errors
    /// As there.
    fn sweep(&self, clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        wait(self.asynchronous().sweep(clear))
    }
}

impl<S: crate::TeamStore> TeamStore for S {
    fn asynchronous(&self) -> &dyn crate::TeamStore {
        self
    }
}
