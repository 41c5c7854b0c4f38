//! Where a sub-agent begins, and where it is taken up again.

use std::sync::Arc;

use serde_json::json;
use swarm_policy::{HookEvent, Isolation};
use swarm_protocol::{AgentEvent, SubAgentId};
use tokio_util::sync::CancellationToken;

use super::child::Child;
use super::drive::{Ended, drive};
use super::record::{Finding, Record, SubAgentStatus, View};
use super::{Parent, SubAgentRequest, SubAgents};
use crate::{AgentTool, Injected, Totals, told_by_hooks};

impl SubAgents {
    /// Starts a sub-agent and returns at once. The error is for the model.
    pub(crate) async fn start(
        &self,
        parent: &Arc<Parent>,
        request: SubAgentRequest,
        cancel: &CancellationToken,
    ) -> Result<Arc<Record>, String> {
        let root = self.root()?;
        let id = SubAgentId::random();
        let record = {
            let mut inner = self.lock();
            let limits = &self.kit().equipment.limits;
            inner.admission.admit(limits, parent, &id)?;
            let name = inner.fresh_name(&request.definition.name);
            let record = Record::new(id, name, Arc::clone(parent), request, &root.folder);
            let record = Arc::new(record);
            inner.records.push(Arc::clone(&record));
            record
        };
        let prompt = Injected::prompt(record.request.prompt.clone());
        match self.prepare(&record, cancel).await {
            Ok(child) => match self.begin(&record, child, vec![prompt]).await {
                Ok(()) => Ok(record),
                Err(why) => Err(self.forget(&record, &why).await),
            },
            Err(why) => Err(self.forget(&record, &why).await),
        }
    }

    /// Takes a sub-agent up again that has ended, with something new to read; it works in the background. The error is
    /// for the model.
    pub(crate) async fn resume(
        &self,
        record: &Arc<Record>,
        input: Vec<Injected>,
    ) -> Result<(), String> {
        let agent_type = record.agent_type();
        let is_known = record.is_fork() || agent_type == AgentTool::GENERAL;
        if !is_known && self.catalog().find(agent_type).is_none() {
            return Err(format!(
                "{} cannot go on: its definition `{agent_type}` is gone. Start another agent",
                record.name
            ));
        }
        {
            let mut live = record.live();
            if live.open {
                // Somebody else has taken it up meanwhile.
                live.mail.extend(input);
                return Ok(());
            }
            live.open = true;
        }
        let limits = &self.kit().equipment.limits;
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
            live.told = false;
        }
        record.view.send_replace(View {
            status: SubAgentStatus::Running,
            settled: false,
            background: true,
        });
        let cancel = record.live().cancel.clone();
        let begun = match self.prepare(record, &cancel).await {
            Ok(child) => self.begin(record, child, input).await,
            Err(why) => Err(why),
        };
        if let Err(why) = begun {
            let finding = Finding {
                error: Some(why.clone()),
                ..Finding::default()
            };
            self.undo(record, finding).await;
            return Err(why);
        }
        Ok(())
    }

    /// Makes its folder, starts its servers and opens its conversation.
    async fn prepare(
        &self,
        record: &Arc<Record>,
        cancel: &CancellationToken,
    ) -> Result<Child, String> {
        if record.request.isolation == Some(Isolation::Worktree) {
            let Some(isolator) = &self.kit().isolator else {
                return Err(
                    "The sub-agent was not started: isolated work trees for sub-agents are not available; leave \
                     isolation out."
                        .to_owned(),
                );
            };
            let from = self.moved(record)?.map(|moved| moved.cwd);
            let from = from.unwrap_or_else(|| record.parent.parts.tool_context.cwd.clone());
            let folder = isolator.prepare(&record.id, &from, cancel.clone()).await?;
            record.live().folder = Some(folder);
        }
        self.start_servers(record, cancel).await?;
        self.open(record)
    }

    /// The one place where a sub-agent begins a run: everything that has to happen then happens here.
    async fn begin(
        &self,
        record: &Arc<Record>,
        mut child: Child,
        mut input: Vec<Injected>,
    ) -> Result<(), String> {
        let notice = record.live().folder.as_ref().map(|own| own.notice.clone());
        input.extend(
            notice
                .filter(|notice| !notice.is_empty())
                .map(Injected::prompt),
        );
        let hooks = &child.session.parts().hooks;
        let (agent_type, cancel) = (record.agent_type(), record.live().cancel.clone());
        let outcome = hooks
            .fire(
                HookEvent::SubagentStart,
                Some(agent_type),
                json!({}),
                &cancel,
            )
            .await;
        input.extend(told_by_hooks(&outcome));
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
        self.stir();
        let (agents, record) = (self.me()?, Arc::clone(record));
        let stall = self.kit().equipment.limits.stall();
        tokio::spawn(async move {
            let model = child.session.parts().model_name.clone();
            let working = Arc::clone(&record);
            let work = tokio::spawn(async move {
                let ended = drive(&mut child, &working, cancel, stall).await;
                drop(child);
                ended
            });
            let ended = work.await.unwrap_or_else(|_| Ended {
                status: SubAgentStatus::Failed,
                finding: Finding {
                    error: Some("it broke down through a defect of the program".to_owned()),
                    ..Finding::default()
                },
            });
            agents.end(&record, ended, &model).await;
        });
        Ok(())
    }
}
