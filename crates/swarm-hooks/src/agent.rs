//! The hooks of one agent.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use swarm_permissions::{HookEvent, HookSettings};
use swarm_protocol::{Task, TaskId};
use tokio_util::sync::CancellationToken;

use crate::{HookOutcome, Hooks, Subject};

type WhoFn = dyn Fn() -> Subject + Send + Sync;

/// Runs hooks for one agent. Empty by default.
#[derive(Clone)]
pub struct AgentHooks {
    hooks: Hooks,
    who: Arc<WhoFn>,
    subagent: bool,
}

impl Default for AgentHooks {
    fn default() -> Self {
        Self {
            hooks: Hooks::default(),
            who: Arc::new(Subject::default),
            subagent: false,
        }
    }
}

impl fmt::Debug for AgentHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentHooks")
            .field("hooks", &self.hooks)
            .field("subagent", &self.subagent)
            .finish_non_exhaustive()
    }
}

impl AgentHooks {
    /// Hooks of an agent that is, at each moment, whom `who` describes.
    pub fn new(hooks: Hooks, who: impl Fn() -> Subject + Send + Sync + 'static) -> Self {
        Self {
            hooks,
            who: Arc::new(who),
            subagent: false,
        }
    }

    /// The hooks of a sub-agent of this agent, with those of its definition. It is told apart by its own id and type;
    /// its parent is this agent.
    #[must_use]
    pub fn for_subagent(
        &self,
        agent_id: &str,
        agent_type: &str,
        definition: &HookSettings,
    ) -> Self {
        let (parent, id, kind) = (
            Arc::clone(&self.who),
            agent_id.to_owned(),
            agent_type.to_owned(),
        );
        let who = move || {
            let parent = parent();
            let name = parent.member.as_ref().map(ToString::to_string);
            Subject {
                parent: parent.agent_id.clone().or(name),
                agent_id: Some(id.clone()),
                agent_type: Some(kind.clone()),
                ..parent
            }
        };
        Self {
            hooks: self.hooks.and(definition.clone().for_subagent()),
            who: Arc::new(who),
            subagent: true,
        }
    }

    /// All hooks of the process.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Whom the hooks are told of at this moment.
    pub fn subject(&self) -> Subject {
        (self.who)()
    }

    /// The event of the end of this agent's turn.
    pub fn end_event(&self) -> HookEvent {
        if self.subagent {
            HookEvent::SubagentStop
        } else {
            HookEvent::Stop
        }
    }

    /// Whether anything runs at an event.
    pub fn any(&self, event: HookEvent, matched: Option<&str>) -> bool {
        self.hooks.any(event, matched)
    }

    /// Runs the hooks of an event of this agent.
    pub async fn fire(
        &self,
        event: HookEvent,
        matched: Option<&str>,
        fields: Value,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        self.fire_as(event, matched, |_| {}, fields, cancel).await
    }

    /// The same, where `refine` knows more of the agent.
    pub async fn fire_as(
        &self,
        event: HookEvent,
        matched: Option<&str>,
        refine: impl FnOnce(&mut Subject),
        fields: Value,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        if !self.any(event, matched) {
            return HookOutcome::default();
        }
        let mut subject = self.subject();
        refine(&mut subject);
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        self.hooks
            .run(event, matched, &subject, &fields, cancel)
            .await
    }

    /// Runs the `Notification` hooks: a person is wanted, for the reason `kind`. Nothing waits for them, and what they
    /// answer changes nothing. Within a tokio runtime.
    pub fn notify(&self, kind: &'static str, message: String) {
        let event = HookEvent::Notification;
        if !self.any(event, Some(kind)) {
            return;
        }
        let hooks = self.clone();
        tokio::spawn(async move {
            let fields = json!({"message": message, "notification_type": kind});
            let never = CancellationToken::new();
            hooks.fire(event, Some(kind), fields, &never).await;
        });
    }

    /// Runs the hooks of an event of a task.
    pub async fn fire_task(
        &self,
        event: HookEvent,
        task: &Task,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        if !self.any(event, None) {
            return HookOutcome::default();
        }
        let subject = self.subject();
        let fields = json!({
            "task_id": task.id,
            "task_subject": task.subject,
            "task_description": task.description,
            "teammate_name": subject.member,
            "team_name": subject.team,
        });
        let id: TaskId = task.id;
        let refine = move |subject: &mut Subject| subject.task = Some(id);
        self.fire_as(event, None, refine, fields, cancel).await
    }
}
