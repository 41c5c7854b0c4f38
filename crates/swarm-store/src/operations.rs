//! The asynchronous traits for a kind whose operations are synchronous functions of the same names,
//! run such that they never block an asynchronous caller.

use std::borrow::Borrow;

/// Implements a trait by operations of a handle. Each is run by `run`, on the caller's thread if
/// nothing has to be waited for, otherwise on the blocking pool, or by `run_blocking`, on the
/// blocking pool. The word around the type `T` of an argument says what the trait and the operation
/// take:
///
/// | word | trait | operation |
/// |---|---|---|
/// | `by` | `&T` | `&T` |
/// | `copied` | `&T` | `T` |
/// | `given` | `T` | `T` |
/// | `lent` | `T` | `&T` |
/// | `perhaps` | `Option<&T>` | `Option<&T>` |
/// | `taken` | `Option<T>` | `Option<&T>` |
macro_rules! operations {
    (
        $trait:ident for $team:ident:
        $($how:ident $name:ident($($arg:ident: $(by($b:ty))? $(copied($c:ty))? $(given($g:ty))?
            $(lent($l:ty))? $(perhaps($p:ty))? $(taken($t:ty))?),*) -> $out:ty;)*
        { $($rest:tt)* }
    ) => {
        #[async_trait]
        impl $trait for $team {
            $(async fn $name(
                &self,
                $($arg: $(&$b)? $(&$c)? $($g)? $($l)? $(Option<&$p>)? $(Option<$t>)?),*
            ) -> $out {
                $(
                    $(let $arg = <$b as ToOwned>::to_owned($arg);)?
                    $(let $arg: $c = *$arg;)?
                    $(let $arg: Option<$p> = $arg.cloned();)?
                )*
                self.$how(move |team| {
                    team.$name($(
                        $($crate::operations::borrowed::<$b>(&$arg))?
                        $(<$c>::clone(&$arg))?
                        $(<$g>::clone(&$arg))?
                        $($crate::operations::borrowed::<$l>(&$arg))?
                        $(Option::<$p>::as_ref(&$arg))?
                        $(Option::<$t>::as_ref(&$arg))?
                    ),*)
                })
                .await
            })*
            $($rest)*
        }
    };
}

/// Borrows an argument again in the call that owns it.
pub(crate) fn borrowed<B: ToOwned + ?Sized>(owned: &B::Owned) -> &B {
    owned.borrow()
}

/// Implements [`crate::Team`] and its traits for a handle.
macro_rules! asynchronous_team {
    ($team:ident) => {
        use std::path::{Path, PathBuf};
        use std::sync::Arc;
        use std::time::Duration;

        use async_trait::async_trait;
        use swarm_os::process::Identity;
        use swarm_os::{DirectoryWatcher, Liveness};
        use swarm_protocol::{
            Answer, AnsweredBy, BackendType, BlobRef, Budget, BudgetScope, Budgets, CostRecord,
            Event, Grant, Hello, InboxEntry, JournalEntry, LeadProcess, LifeRecord, Member,
            MemberName, MessageId, NewTask, PaneId, PauseMark, PermissionMode, PublishedBranch,
            RequestId, RequestKind, RequestRecord, RightsReport, RunBudget, SpawnId, StateReport,
            Task, TaskId, TeamConfig, TeamName, UnixMs,
        };

        use crate::operations::operations;
        use crate::roster::Place;
        use crate::{
            Accounts, Actor, AnswerLookup, Changes, Cursor, Draft, Events, Exchange, Inbox,
            Journal, JournalLines, Lease, LeaseEnd, Leases, Mailbox, NewMember, Orders, Posted,
            Presence, ReconcileReport, RemovedMember, RequestList, RequestQueue, Result, Roster,
            Spawns, StoppedSpawn, TaskBoard, TaskChange, TaskList, TaskUpdated, Team, TeamDamage,
            TeamView, Topic, Undelivered, VerifyKey,
        };

        operations! {
            Team for $team:
            run is_stored() -> Result<bool>;
            run damage() -> Option<TeamDamage>;
            run is_foreign() -> bool;
            run_blocking adopt() -> Result<()>;
            run is_adopted() -> Result<bool>;
            run_blocking delete(purge: given(bool), force: given(bool)) -> Result<Option<PathBuf>>;
            run may_delete(force: given(bool)) -> Result<()>;
            run view() -> Result<TeamView>;
            {
                fn name(&self) -> &TeamName {
                    self.team_name()
                }

                fn location(&self) -> String {
                    self.location()
                }

                fn identity(&self) -> Identity {
                    self.identity()
                }

                fn watch(&self, watcher: &DirectoryWatcher, topic: &Topic) -> Changes {
                    self.changes(watcher, topic)
                }

                fn with_lock_timeout(&self, at_most: Duration) -> Arc<dyn Team> {
                    Arc::new(self.waiting_at_most(at_most))
                }

                async fn reconcile_into(&self, done: &mut ReconcileReport) -> Result<()> {
                    // Usually there is nothing to do, which needs no lock.
                    if !self.run($team::needs_reconcile).await? {
                        return Ok(());
                    }
                    let (report, outcome) = self
                        .run_blocking(|team| {
                            let mut report = ReconcileReport::default();
                            let outcome = team.reconcile_into(&mut report);
                            (report, outcome)
                        })
                        .await;
                    done.add(report);
                    outcome
                }

                fn is_remote(&self) -> bool {
                    self.is_remote()
                }

                fn received(&self) -> u64 {
                    self.received()
                }

                fn is_joined(&self) -> bool {
                    self.is_joined()
                }

                fn orders(&self) -> Option<Orders> {
                    self.orders_for_nodes()
                }
            }
        }

        operations! {
            Roster for $team:
            run config() -> Result<TeamConfig>;
            run known_config() -> Result<TeamConfig>;
            run_blocking remove_member(name: by(MemberName), stopped: perhaps(StoppedSpawn))
                -> Result<Option<RemovedMember>>;
            run former_member(name: by(MemberName)) -> Result<Option<Member>>;
            run set_active(name: by(MemberName), active: given(bool)) -> Result<()>;
            run add_allowed_path(path: by(str), tool: by(str)) -> Result<()>;
            run remove_allowed_path(path: by(str), tool: by(str)) -> Result<()>;
            run set_mode(name: by(MemberName), mode: given(PermissionMode)) -> Result<()>;
            run set_lead_process(lead: taken(LeadProcess)) -> Result<()>;
            run set_lead_session(session_id: by(str), model: by(str)) -> Result<()>;
            run clear_lost_lead(lost: by(LeadProcess)) -> Result<()>;
            run set_paused(name: by(MemberName), mark: perhaps(PauseMark))
                -> Result<Option<PauseMark>>;
            {}
        }

        operations! {
            Spawns for $team:
            run_blocking abort_spawn(spawn: by(SpawnId), reason: by(str)) -> Result<bool>;
            run add_external(name: by(MemberName), cwd: by(Path)) -> Result<Member>;
            {
                async fn reserve_into(
                    &self,
                    new: NewMember,
                    done: &mut ReconcileReport,
                ) -> Result<Member> {
                    let (report, outcome) = self
                        .run_blocking(move |team| {
                            let mut report = ReconcileReport::default();
                            let outcome = team.reserve_into(&new, &mut report);
                            (report, outcome)
                        })
                        .await;
                    done.add(report);
                    outcome
                }

                async fn commit_spawn(
                    &self,
                    spawn: &SpawnId,
                    pane: PaneId,
                    backend: BackendType,
                    socket: Option<PathBuf>,
                ) -> Result<Member> {
                    let spawn = *spawn;
                    let place = Place {
                        pane,
                        backend,
                        socket,
                    };
                    self.run_blocking(move |team| team.commit_spawn(spawn, &place))
                        .await
                }
            }
        }

        operations! {
            Mailbox for $team:
            run post(to: by(MemberName), draft: given(Draft)) -> Result<Posted>;
            run_blocking post_all(letters: by([(MemberName, Draft)]))
                -> Result<Vec<Result<Posted>>>;
            run inbox(name: by(MemberName)) -> Result<Inbox>;
            run inbox_at_rest(name: by(MemberName)) -> Result<Inbox>;
            run archived_mail(name: by(MemberName)) -> Result<Vec<InboxEntry>>;
            run take_unread(name: by(MemberName)) -> Result<Vec<InboxEntry>>;
            run ack(name: by(MemberName), ids: by([MessageId])) -> Result<Vec<MessageId>>;
            run ack_on_behalf(name: by(MemberName), ids: by([MessageId])) -> Result<Vec<MessageId>>;
            run delivered(name: by(MemberName), ids: by([MessageId])) -> Result<Vec<MessageId>>;
            {}
        }

        operations! {
            TaskBoard for $team:
            run create_tasks(new: by([NewTask]), by: by(Actor)) -> Result<Vec<TaskId>>;
            run tasks() -> Result<TaskList>;
            run task(id: copied(TaskId)) -> Result<Task>;
            run_blocking update_task(id: copied(TaskId), change: lent(TaskChange), by: by(Actor))
                -> Result<TaskUpdated>;
            run check_update(id: copied(TaskId), change: by(TaskChange), by: by(Actor))
                -> Result<()>;
            run_blocking claim(id: copied(TaskId), by: by(Actor)) -> Result<Task>;
            run_blocking claim_next(by: by(Actor)) -> Result<Option<Task>>;
            run_blocking release(id: copied(TaskId), by: by(Actor)) -> Result<Task>;
            run_blocking delete_task(id: copied(TaskId), by: by(Actor)) -> Result<Vec<Task>>;
            run_blocking announce_tasks(ids: by([TaskId]), by: by(Actor)) -> Result<()>;
            run undelivered() -> Vec<Undelivered>;
            {}
        }

        operations! {
            RequestQueue for $team:
            run_blocking open_request(request: lent(RequestRecord), notice: taken(Draft))
                -> Result<RequestRecord>;
            run withdraw_request(id: by(RequestId), why: given(Option<&'static str>))
                -> Result<bool>;
            run server_time() -> Result<UnixMs>;
            run requests() -> Result<RequestList>;
            run request(id: by(RequestId)) -> Result<RequestRecord>;
            run answer_request(id: by(RequestId), shown: perhaps(RequestKind), answer: lent(Answer),
                by: lent(AnsweredBy)) -> Result<RequestRecord>;
            run look_up_answer(asked: by(RequestRecord), key: perhaps(VerifyKey))
                -> Result<AnswerLookup>;
            run verify_key() -> Result<Option<VerifyKey>>;
            run signed(grant: by(Grant), by: given(AnsweredBy)) -> Result<AnsweredBy>;
            run ignore_answer(id: by(RequestId), why: given(&'static str)) -> Result<bool>;
            run close_request(id: by(RequestId)) -> Result<()>;
            {}
        }

        operations! {
            Exchange for $team:
            run_blocking put_blob(content: lent(Vec<u8>)) -> Result<BlobRef>;
            run_blocking blob(blob: by(BlobRef)) -> Result<Option<Vec<u8>>>;
            run_blocking delete_blob(blob: by(BlobRef)) -> Result<()>;
            run_blocking publish_branch(branch: by(PublishedBranch)) -> Result<()>;
            run_blocking note_merged(member: by(MemberName), commit: by(str)) -> Result<()>;
            run published_branches() -> Result<Vec<PublishedBranch>>;
            {}
        }

        operations! {
            Journal for $team:
            run journal(event: given(Event)) -> Result<()>;
            run events_from(from: given(Cursor)) -> Result<Events>;
            run events_with(text: by(str)) -> Result<Vec<JournalEntry>>;
            run journal_end() -> Result<Cursor>;
            {}
        }

        operations! {
            Accounts for $team:
            run record_costs(records: by([CostRecord])) -> Result<()>;
            run costs_from(from: given(Cursor)) -> Result<JournalLines<CostRecord>>;
            run budgets() -> Result<Budgets>;
            run set_budget(scope: by(BudgetScope), budget: given(Option<Budget>)) -> Result<()>;
            run set_run_budget(budget: given(Option<RunBudget>)) -> Result<()>;
            {}
        }

        operations! {
            Presence for $team:
            run write_hello(name: by(MemberName), hello: by(Hello)) -> Result<()>;
            run hello(name: by(MemberName)) -> Result<Option<Hello>>;
            run write_rights(name: by(MemberName), rights: by(RightsReport)) -> Result<()>;
            run write_plan(name: by(MemberName), spawn: given(SpawnId), plan: by(str))
                -> Result<PathBuf>;
            run rights(name: by(MemberName)) -> Result<Option<RightsReport>>;
            run write_state(name: by(MemberName), state: by(StateReport)) -> Result<()>;
            run state(name: by(MemberName)) -> Result<Option<StateReport>>;
            run paused(name: by(MemberName)) -> Result<Option<PauseMark>>;
            run pause_of(member: by(Member)) -> Result<Option<PauseMark>>;
            run names_on_disk() -> Result<Vec<MemberName>>;
            {
                fn local_directory(&self, name: &MemberName) -> PathBuf {
                    self.local_directory(name)
                }
            }
        }

        operations! {
            Leases for $team:
            run liveness(name: by(MemberName)) -> Result<Liveness>;
            run lease(name: by(MemberName)) -> Result<Liveness>;
            run end_lease(name: by(MemberName), spawn: copied(SpawnId)) -> Result<()>;
            run life_record(name: by(MemberName)) -> Option<LifeRecord>;
            run parked_process(name: by(MemberName)) -> Option<LifeRecord>;
            run life_record_here(name: by(MemberName)) -> Option<LifeRecord>;
            run take_life(name: by(MemberName), record: by(LifeRecord)) -> Result<Lease>;
            {
                fn lease_end(&self, name: &MemberName) -> LeaseEnd {
                    self.end_of_lease(name)
                }
            }
        }
    };
}

pub(crate) use asynchronous_team;
pub(crate) use operations;
