//! Starting and resuming sub-agents.

use std::sync::Arc;

use serde_json::json;
use swarm_hooks::HookOutcome;
use swarm_permissions::{HookEvent, Isolation};
use swarm_protocol::{AgentEvent, SubAgentId};
use tokio_util::sync::CancellationToken;

use super::child::Child;
use super::drive::{drive, failed};
use super::record::{Link, Record, SubAgentStatus, View};
use super::{Parent, SubAgentRequest, SubAgents};
use crate::turn::hook_context;
use crate::{Injected, Totals};

impl SubAgents {
    /// Starts a sub-agent and returns once it is running. The error is for the model.
    ///
    /// Dropping the future cancels the start; a partial start is undone in the background.
    pub(crate) async fn start(
        &self,
        parent: &Arc<Parent>,
        request: SubAgentRequest,
        cancel: &CancellationToken,
    ) -> Result<Link, String> {
        let (agents, parent) = (self.strong()?, Arc::clone(parent));
        let cancel = cancel.child_token();
        let given_up = cancel.clone().drop_guard();
        let start = async move { agents.start_detached(&parent, request, &cancel).await };
        let started = tokio::spawn(start).await;
        given_up.disarm();
        started.unwrap_or_else(|_| Err("The sub-agent was not started: internal error.".to_owned()))
    }

    async fn start_detached(
        &self,
        parent: &Arc<Parent>,
        request: SubAgentRequest,
        cancel: &CancellationToken,
    ) -> Result<Link, String> {
        let root = self.root()?;
        let id = SubAgentId::random();
        let record = {
            let mut inner = self.lock();
            let limits = &self.kit().agent_config.limits;
            let name = inner.name_for(&request)?;
            inner.admission.admit(limits, parent, &id)?;
            let (parent, scan) = (Arc::clone(parent), self.kit().agent_config.handoff);
            let record = Record::new(id, name, parent, request, &root.directory, scan);
            let record = Arc::new(record);
            inner.records.push(Arc::clone(&record));
            record
        };
        let prompt = Injected::prompt(record.request.prompt.clone());
        if let Err(why) = self.begin(&record, vec![prompt], cancel).await {
            self.discard(&record).await;
            return Err(why);
        }
        Ok(Link(record))
    }

    /// Resumes a sub-agent in the background with new input. The error is for the model. The work
    /// continues if the future is dropped.
    pub(crate) async fn resume(
        &self,
        record: &Arc<Record>,
        input: Vec<Injected>,
    ) -> Result<(), String> {
        let (agents, record) = (self.strong()?, Arc::clone(record));
        let resume = async move { agents.resume_detached(&record, input).await };
        tokio::spawn(resume)
            .await
            .unwrap_or_else(|_| Err("the sub-agent was not resumed: internal error".to_owned()))
    }

    async fn resume_detached(
        &self,
        record: &Arc<Record>,
        input: Vec<Injected>,
    ) -> Result<(), String> {
        if let Some(why) = record.hindrance() {
            return Err(format!(
                "{} cannot be resumed: {why}. Start another agent",
                record.name
            ));
        }
        {
            let mut live = record.live();
            if live.open {
                // Another caller has resumed it meanwhile.
                live.mail.extend(input);
                return Ok(());
            }
            live.open = true;
        }
        let limits = &self.kit().agent_config.limits;
        let admitted = {
            let mut inner = self.lock();
            inner.admission.readmit(limits, &record.parent, &record.id)
        };
        if let Err(why) = admitted {
            record.live().open = false;
            return Err(why);
        }
        {
            let mut live = record.live();
            live.cancel = CancellationToken::new();
            live.stopped_by = None;
            live.below = Totals::default();
            live.notified = false;
        }
        record.view.send_replace(View {
            status: SubAgentStatus::Running,
            settled: false,
            background: true,
        });
        let cancel = record.live().cancel.clone();
        let begun = self.begin(record, input, &cancel).await;
        if let Err(why) = &begun {
            self.abort_resume(record, why).await;
        }
        begun
    }

    /// Creates the sub-agent's directory, starts its servers and opens its conversation.
    async fn prepare(
        &self,
        record: &Arc<Record>,
        cancel: &CancellationToken,
    ) -> Result<Child, String> {
        if record.request.settings.isolation == Some(Isolation::Worktree) {
            let Some(isolator) = &self.kit().isolator else {
                return Err(
                    "The sub-agent was not started: isolated worktrees are not available for sub-agents; leave \
                     `isolation` out."
                        .to_owned(),
                );
            };
            let from = self.moved(record)?.map(|moved| moved.cwd);
            let from = from.filter(|cwd| cwd.is_dir());
            let from = from.unwrap_or_else(|| record.parent.parts.tool_context.cwd.clone());
            let directory = isolator.prepare(&record.id, &from, cancel).await?;
            record.live().directory = Some(directory);
        }
        self.start_servers(record, cancel).await?;
        self.open(record)
    }

    /// Begins a run of a sub-agent. Every run begins here.
    async fn begin(
        &self,
        record: &Arc<Record>,
        mut input: Vec<Injected>,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let mut child = self.prepare(record, cancel).await?;
        if let Some(own) = &record.live().directory
            && !own.notice.is_empty()
        {
            input.push(Injected::prompt(own.notice.as_str()));
        }
        let outcome = run_start_hooks(&child, record, cancel).await?;
        input.extend(hook_context(&outcome));
        child
            .session
            .deliver(input)
            .map_err(|error| error.to_string())?;
        let cancel = {
            let mut live = record.live();
            live.runs += 1;
            live.before = child.session.totals();
            live.started = self.kit().clock.now();
            live.cancel.clone()
        };
        record.note();
        self.root()?.events.emit(AgentEvent::SubAgentStarted {
            id: record.id.clone(),
            parent: record.parent.id.clone(),
            agent_type: record.agent_type().to_owned(),
            description: record.request.description.clone(),
            background: record.view().background,
        });
        self.notify_changed();
        let (agents, record) = (self.strong()?, Arc::clone(record));
        let stall = self.kit().agent_config.limits.stall();
        tokio::spawn(async move {
            let model = child.session.parts().model_name.clone();
            let working = Arc::clone(&record);
            let work = tokio::spawn(async move {
                let ended = drive(&mut child, &working, cancel, stall).await;
                drop(child);
                ended
            });
            let ended = work.await;
            let ended =
                ended.unwrap_or_else(|_| failed("internal error".into(), Totals::default()));
            agents.end(&record, ended, &model).await;
        });
        Ok(())
    }
}

/// Runs the `SubagentStart` hooks. Meanwhile the caller can cancel, and the sub-agent can be
/// stopped.
async fn run_start_hooks(
    child: &Child,
    record: &Record,
    cancel: &CancellationToken,
) -> Result<HookOutcome, String> {
    let (stopped, cancel) = (record.live().cancel.clone(), cancel.child_token());
    let hooks = &child.session.parts().hooks;
    let agent_type = Some(record.agent_type());
    let fired = hooks.fire(HookEvent::SubagentStart, agent_type, json!({}), &cancel);
    tokio::pin!(fired);
    let outcome = tokio::select! {
        outcome = &mut fired => outcome,
        () = stopped.cancelled() => {
            cancel.cancel();
            fired.await
        }
    };
    if cancel.is_cancelled() || stopped.is_cancelled() {
        return Err("The sub-agent was not started: it was stopped before it began.".to_owned());
    }
    Ok(outcome)
}
