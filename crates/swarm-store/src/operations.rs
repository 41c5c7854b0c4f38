//! The asynchronous traits for a kind whose operations are synchronous functions of the same names,
//! run such that they never block an asynchronous caller.

/// Implements [`crate::Team`] and its traits for a handle. The handle has two functions for running
/// an operation: `run`, on the caller's thread if nothing has to be waited for, otherwise on the
/// blocking pool, and `run_blocking`, on the blocking pool.
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
            Event, Grant, Hello, InboxEntry, LeadProcess, LifeRecord, Member, MemberName,
            MessageId, NewTask, PaneId, PauseMark, PermissionMode, PublishedBranch, RequestId,
            RequestKind, RequestRecord, RightsReport, RunBudget, SpawnId, StateReport, Task,
            TaskId, TeamConfig, TeamName,
        };

        use crate::roster::Place;
        use crate::{
            Accounts, Actor, AnswerLookup, Changes, Cursor, Draft, Events, Exchange, Inbox,
            Journal, JournalLines, Lease, LeaseEnd, Mailbox, NewMember, Orders, Posted, Presence,
            ReconcileReport, RemovedMember, RequestList, RequestQueue, Result, Roster, TaskBoard,
            TaskChange, TaskList, TaskUpdated, Team, TeamDamage, TeamView, Topic, VerifyKey,
        };

        #[async_trait]
        impl Team for $team {
            fn name(&self) -> &TeamName {
                self.team_name()
            }

            fn location(&self) -> String {
                self.location()
            }

            fn identity(&self) -> Identity {
                self.identity()
            }

            async fn is_stored(&self) -> Result<bool> {
                self.run($team::is_stored).await
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

            async fn damage(&self) -> Option<TeamDamage> {
                self.run($team::damage).await
            }

            fn is_remote(&self) -> bool {
                self.is_remote()
            }

            fn orders(&self) -> Option<Orders> {
                self.orders_for_nodes()
            }

            fn is_joined(&self) -> bool {
                self.is_joined()
            }

            async fn is_foreign(&self) -> bool {
                self.run($team::is_foreign).await
            }

            async fn adopt(&self) -> Result<()> {
                self.run_blocking($team::adopt).await
            }

            async fn is_adopted(&self) -> Result<bool> {
                self.run($team::is_adopted).await
            }

            async fn delete(&self, purge: bool, force: bool) -> Result<Option<PathBuf>> {
                self.run_blocking(move |team| team.delete(purge, force))
                    .await
            }

            async fn may_delete(&self, force: bool) -> Result<()> {
                self.run(move |team| team.may_delete(force)).await
            }

            async fn view(&self) -> Result<TeamView> {
                self.run($team::view).await
            }
        }

        #[async_trait]
        impl Roster for $team {
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

            async fn config(&self) -> Result<TeamConfig> {
                self.run($team::config).await
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

            async fn abort_spawn(&self, spawn: &SpawnId, reason: &str) -> Result<bool> {
                let spawn = *spawn;
                let reason = reason.to_owned();
                self.run_blocking(move |team| team.abort_spawn(&spawn, &reason))
                    .await
            }

            async fn remove_member(
                &self,
                name: &MemberName,
                spawn: Option<&SpawnId>,
            ) -> Result<Option<RemovedMember>> {
                let name = name.to_owned();
                let spawn = spawn.copied();
                self.run_blocking(move |team| team.remove_member(&name, spawn.as_ref()))
                    .await
            }

            async fn former_member(&self, name: &MemberName) -> Result<Option<Member>> {
                let name = name.to_owned();
                self.run(move |team| team.former_member(&name)).await
            }

            async fn add_external(&self, name: &MemberName, cwd: &Path) -> Result<Member> {
                let (name, cwd) = (name.to_owned(), cwd.to_owned());
                self.run(move |team| team.add_external(&name, &cwd)).await
            }

            async fn set_active(&self, name: &MemberName, active: bool) -> Result<()> {
                let name = name.to_owned();
                self.run(move |team| team.set_active(&name, active)).await
            }

            async fn add_allowed_path(&self, path: &str, tool: &str) -> Result<()> {
                let path = path.to_owned();
                let tool = tool.to_owned();
                self.run(move |team| team.add_allowed_path(&path, &tool))
                    .await
            }

            async fn set_mode(&self, name: &MemberName, mode: PermissionMode) -> Result<()> {
                let name = name.to_owned();
                self.run(move |team| team.set_mode(&name, mode)).await
            }

            async fn set_lead_process(&self, lead: Option<LeadProcess>) -> Result<()> {
                self.run(move |team| team.set_lead_process(lead.as_ref()))
                    .await
            }

            async fn set_lead_session(&self, session_id: &str, model: &str) -> Result<()> {
                let session_id = session_id.to_owned();
                let model = model.to_owned();
                self.run(move |team| team.set_lead_session(&session_id, &model))
                    .await
            }

            async fn clear_lost_lead(&self, lost: &LeadProcess) -> Result<()> {
                let lost = lost.to_owned();
                self.run(move |team| team.clear_lost_lead(&lost)).await
            }

            async fn set_paused(
                &self,
                name: &MemberName,
                mark: Option<&PauseMark>,
            ) -> Result<Option<PauseMark>> {
                let name = name.to_owned();
                let mark = mark.cloned();
                self.run(move |team| team.set_paused(&name, mark.as_ref()))
                    .await
            }
        }

        #[async_trait]
        impl Mailbox for $team {
            async fn post(&self, to: &MemberName, draft: Draft) -> Result<Posted> {
                let to = to.to_owned();
                self.run(move |team| team.post(&to, draft.clone())).await
            }

            async fn post_all(
                &self,
                letters: &[(MemberName, Draft)],
            ) -> Result<Vec<Result<Posted>>> {
                let letters = letters.to_owned();
                self.run_blocking(move |team| team.post_all(&letters)).await
            }

            async fn inbox(&self, name: &MemberName) -> Result<Inbox> {
                let name = name.to_owned();
                self.run(move |team| team.inbox(&name)).await
            }

            async fn inbox_at_rest(&self, name: &MemberName) -> Result<Inbox> {
                let name = name.to_owned();
                self.run(move |team| team.inbox_at_rest(&name)).await
            }

            async fn archived_mail(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
                let name = name.to_owned();
                self.run(move |team| team.archived_mail(&name)).await
            }

            async fn take_unread(&self, name: &MemberName) -> Result<Vec<InboxEntry>> {
                let name = name.to_owned();
                self.run(move |team| team.take_unread(&name)).await
            }

            async fn ack(&self, name: &MemberName, ids: &[MessageId]) -> Result<Vec<MessageId>> {
                let name = name.to_owned();
                let ids = ids.to_owned();
                self.run(move |team| team.ack(&name, &ids)).await
            }

            async fn ack_on_behalf(
                &self,
                name: &MemberName,
                ids: &[MessageId],
            ) -> Result<Vec<MessageId>> {
                let name = name.to_owned();
                let ids = ids.to_owned();
                self.run(move |team| team.ack_on_behalf(&name, &ids)).await
            }

            async fn delivered(
                &self,
                name: &MemberName,
                ids: &[MessageId],
            ) -> Result<Vec<MessageId>> {
                let name = name.to_owned();
                let ids = ids.to_owned();
                self.run(move |team| team.delivered(&name, &ids)).await
            }
        }

        #[async_trait]
        impl TaskBoard for $team {
            async fn create_tasks(&self, new: &[NewTask], by: &Actor) -> Result<Vec<TaskId>> {
                let new = new.to_owned();
                let by = by.to_owned();
                self.run(move |team| team.create_tasks(&new, &by)).await
            }

            async fn tasks(&self) -> Result<TaskList> {
                self.run($team::tasks).await
            }

            async fn task(&self, id: &TaskId) -> Result<Task> {
                let id = *id;
                self.run(move |team| team.task(id)).await
            }

            async fn update_task(
                &self,
                id: &TaskId,
                change: TaskChange,
                by: &Actor,
            ) -> Result<TaskUpdated> {
                let id = *id;
                let by = by.to_owned();
                self.run_blocking(move |team| team.update_task(id, &change, &by))
                    .await
            }

            async fn check_update(
                &self,
                id: &TaskId,
                change: &TaskChange,
                by: &Actor,
            ) -> Result<()> {
                let id = *id;
                let change = change.to_owned();
                let by = by.to_owned();
                self.run(move |team| team.check_update(id, &change, &by))
                    .await
            }

            async fn claim(&self, id: &TaskId, by: &Actor) -> Result<Task> {
                let id = *id;
                let by = by.to_owned();
                self.run_blocking(move |team| team.claim(id, &by)).await
            }

            async fn claim_next(&self, by: &Actor) -> Result<Option<Task>> {
                let by = by.to_owned();
                self.run_blocking(move |team| team.claim_next(&by)).await
            }

            async fn release(&self, id: &TaskId, by: &Actor) -> Result<Task> {
                let id = *id;
                let by = by.to_owned();
                self.run_blocking(move |team| team.release(id, &by)).await
            }

            async fn delete_task(&self, id: &TaskId, by: &Actor) -> Result<Vec<Task>> {
                let id = *id;
                let by = by.to_owned();
                self.run_blocking(move |team| team.delete_task(id, &by))
                    .await
            }

            async fn announce_tasks(&self, ids: &[TaskId], by: &Actor) -> Result<()> {
                if ids.is_empty() {
                    return Ok(());
                }
                let ids = ids.to_owned();
                let by = by.to_owned();
                self.run_blocking(move |team| team.announce_tasks(&ids, &by))
                    .await
            }
        }

        #[async_trait]
        impl RequestQueue for $team {
            async fn open_request(
                &self,
                request: RequestRecord,
                notice: Option<Draft>,
            ) -> Result<RequestRecord> {
                self.run_blocking(move |team| team.open_request(&request, notice.as_ref()))
                    .await
            }

            async fn withdraw_request(&self, id: &RequestId) -> Result<bool> {
                let id = id.to_owned();
                self.run(move |team| team.withdraw_request(&id)).await
            }

            async fn requests(&self) -> Result<RequestList> {
                self.run($team::requests).await
            }

            async fn request(&self, id: &RequestId) -> Result<RequestRecord> {
                let id = id.to_owned();
                self.run(move |team| team.request(&id)).await
            }

            async fn answer_request(
                &self,
                id: &RequestId,
                shown: Option<&RequestKind>,
                answer: Answer,
                by: AnsweredBy,
            ) -> Result<RequestRecord> {
                let id = id.to_owned();
                let shown = shown.cloned();
                self.run(move |team| team.answer_request(&id, shown.as_ref(), &answer, &by))
                    .await
            }

            async fn look_up_answer(
                &self,
                asked: &RequestRecord,
                key: Option<&VerifyKey>,
            ) -> Result<AnswerLookup> {
                let asked = asked.to_owned();
                let key = key.cloned();
                self.run(move |team| team.look_up_answer(&asked, key.as_ref()))
                    .await
            }

            async fn verify_key(&self) -> Result<Option<VerifyKey>> {
                self.run($team::verify_key).await
            }

            async fn signed(&self, grant: &Grant, by: AnsweredBy) -> Result<AnsweredBy> {
                let grant = grant.to_owned();
                self.run(move |team| team.signed(&grant, by.clone())).await
            }

            async fn close_request(&self, id: &RequestId) -> Result<()> {
                let id = id.to_owned();
                self.run(move |team| team.close_request(&id)).await
            }
        }

        #[async_trait]
        impl Journal for $team {
            async fn journal(&self, event: Event) -> Result<()> {
                self.run(move |team| team.journal(event.clone())).await
            }

            async fn events_from(&self, from: Cursor) -> Result<Events> {
                self.run(move |team| team.events_from(from)).await
            }

            async fn journal_end(&self) -> Result<Cursor> {
                self.run($team::journal_end).await
            }
        }

        #[async_trait]
        impl Accounts for $team {
            async fn record_costs(&self, records: &[CostRecord]) -> Result<()> {
                let records = records.to_owned();
                self.run(move |team| team.record_costs(&records)).await
            }

            async fn costs_from(&self, from: Cursor) -> Result<JournalLines<CostRecord>> {
                self.run(move |team| team.costs_from(from)).await
            }

            async fn budgets(&self) -> Result<Budgets> {
                self.run($team::budgets).await
            }

            async fn set_budget(&self, scope: &BudgetScope, budget: Budget) -> Result<()> {
                let scope = scope.to_owned();
                self.run(move |team| team.set_budget(&scope, budget)).await
            }

            async fn set_run_budget(&self, run: Option<RunBudget>) -> Result<()> {
                self.run(move |team| team.set_run_budget(run)).await
            }
        }

        #[async_trait]
        impl Presence for $team {
            async fn write_hello(&self, name: &MemberName, hello: &Hello) -> Result<()> {
                let name = name.to_owned();
                let hello = hello.to_owned();
                self.run(move |team| team.write_hello(&name, &hello)).await
            }

            async fn hello(&self, name: &MemberName) -> Result<Option<Hello>> {
                let name = name.to_owned();
                self.run(move |team| team.hello(&name)).await
            }

            async fn write_rights(&self, name: &MemberName, rights: &RightsReport) -> Result<()> {
                let name = name.to_owned();
                let rights = rights.to_owned();
                self.run(move |team| team.write_rights(&name, &rights))
                    .await
            }

            async fn write_plan(
                &self,
                name: &MemberName,
                spawn: SpawnId,
                plan: &str,
            ) -> Result<PathBuf> {
                let name = name.to_owned();
                let plan = plan.to_owned();
                self.run(move |team| team.write_plan(&name, spawn, &plan))
                    .await
            }

            async fn rights(&self, name: &MemberName) -> Result<Option<RightsReport>> {
                let name = name.to_owned();
                self.run(move |team| team.rights(&name)).await
            }

            async fn write_state(&self, name: &MemberName, state: &StateReport) -> Result<()> {
                let name = name.to_owned();
                let state = state.to_owned();
                self.run(move |team| team.write_state(&name, &state)).await
            }

            async fn state(&self, name: &MemberName) -> Result<Option<StateReport>> {
                let name = name.to_owned();
                self.run(move |team| team.state(&name)).await
            }

            async fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>> {
                let name = name.to_owned();
                self.run(move |team| team.paused(&name)).await
            }

            async fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>> {
                let member = member.to_owned();
                self.run(move |team| team.pause_of(&member)).await
            }

            async fn liveness(&self, name: &MemberName) -> Result<Liveness> {
                let name = name.to_owned();
                self.run(move |team| team.liveness(&name)).await
            }

            async fn lease(&self, name: &MemberName) -> Result<Liveness> {
                let name = name.to_owned();
                self.run(move |team| team.lease(&name)).await
            }

            fn lease_end(&self, name: &MemberName) -> LeaseEnd {
                self.end_of_lease(name)
            }

            async fn end_lease(&self, name: &MemberName, spawn: &SpawnId) -> Result<()> {
                let name = name.to_owned();
                let spawn = *spawn;
                self.run(move |team| team.end_lease(&name, spawn)).await
            }

            async fn life_record(&self, name: &MemberName) -> Option<LifeRecord> {
                let name = name.to_owned();
                self.run(move |team| team.life_record(&name)).await
            }

            fn local_directory(&self, name: &MemberName) -> PathBuf {
                self.local_directory(name)
            }

            async fn life_record_here(&self, name: &MemberName) -> Option<LifeRecord> {
                let name = name.to_owned();
                self.run(move |team| team.life_record_here(&name)).await
            }

            async fn names_on_disk(&self) -> Result<Vec<MemberName>> {
                self.run($team::names_on_disk).await
            }

            async fn take_life(&self, name: &MemberName, record: &LifeRecord) -> Result<Lease> {
                let name = name.to_owned();
                let record = record.to_owned();
                self.run(move |team| team.take_life(&name, &record)).await
            }
        }

        #[async_trait]
        impl Exchange for $team {
            async fn put_blob(&self, content: Vec<u8>) -> Result<BlobRef> {
                self.run_blocking(move |team| team.put_blob(&content)).await
            }

            async fn blob(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>> {
                let blob = *blob;
                self.run_blocking(move |team| team.blob(&blob)).await
            }

            async fn delete_blob(&self, blob: &BlobRef) -> Result<()> {
                let blob = *blob;
                self.run_blocking(move |team| team.delete_blob(&blob)).await
            }

            async fn publish_branch(&self, branch: &PublishedBranch) -> Result<()> {
                let branch = branch.to_owned();
                self.run_blocking(move |team| team.publish_branch(&branch))
                    .await
            }

            async fn published_branches(&self) -> Result<Vec<PublishedBranch>> {
                self.run($team::published_branches).await
            }
        }
    };
}

pub(crate) use asynchronous_team;
