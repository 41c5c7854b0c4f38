//! The hooks of one agent.

use std::sync::Arc;

use serde_json::{Value, json};
use swarm_permissions::{HookEvent, HookSettings};
use swarm_protocol::{Task, TaskId, partial_debug};
use tokio_util::sync::CancellationToken;

use crate::{HookInput, HookOutcome, Hooks};

type InputFn = dyn Fn() -> HookInput + Send + Sync;

/// Runs hooks for one agent. Empty by default.
#[derive(Clone)]
pub struct AgentHooks {
    hooks: Hooks,
    input: Arc<InputFn>,
    subagent: bool,
}

impl Default for AgentHooks {
    fn default() -> Self {
        Self::new(Hooks::default(), HookInput::default)
    }
}

partial_debug!(AgentHooks: hooks, subagent);

impl AgentHooks {
    /// Returns the hooks of the agent that `input` describes at the time of each event.
    pub fn new(hooks: Hooks, input: impl Fn() -> HookInput + Send + Sync + 'static) -> Self {
        Self {
            hooks,
            input: Arc::new(input),
            subagent: false,
        }
    }

    /// Returns the hooks of a sub-agent of this agent, including those of its definition. The
    /// sub-agent has its own id and type; its parent is this agent.
    #[must_use]
    pub fn for_subagent(
        &self,
        agent_id: &str,
        agent_type: &str,
        definition: &HookSettings,
    ) -> Self {
        let (parent, id, kind) = (
            Arc::clone(&self.input),
            agent_id.to_owned(),
            agent_type.to_owned(),
        );
        let input = move || {
            let parent = parent();
            let name = parent.member.as_ref().map(ToString::to_string);
            HookInput {
                parent: parent.agent_id.clone().or(name),
                agent_id: Some(id.clone()),
                agent_type: Some(kind.clone()),
                ..parent
            }
        };
        Self {
            hooks: self.hooks.and(definition.clone().for_subagent()),
            input: Arc::new(input),
            subagent: true,
        }
    }

    /// Returns all hooks of the process.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Returns the input fields that hooks of this agent receive now.
    pub fn input(&self) -> HookInput {
        (self.input)()
    }

    /// Like [`Self::input`], on the blocking pool: the current task is read from a store that may not answer.
    async fn input_apart(&self) -> HookInput {
        let input = Arc::clone(&self.input);
        let found = tokio::task::spawn_blocking(move || input()).await;
        // It fails if the runtime shuts down, when no hook is run.
        found.unwrap_or_default()
    }

    /// Returns the event fired at the end of this agent's turn.
    pub fn end_event(&self) -> HookEvent {
        if self.subagent {
            HookEvent::SubagentStop
        } else {
            HookEvent::Stop
        }
    }

    /// Returns whether any hook runs for an event.
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

    /// Runs the hooks of an event; `refine` completes the input fields.
    pub async fn fire_as(
        &self,
        event: HookEvent,
        matched: Option<&str>,
        refine: impl FnOnce(&mut HookInput),
        fields: Value,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        if !self.any(event, matched) {
            return HookOutcome::default();
        }
        let mut input = self.input_apart().await;
        refine(&mut input);
        self.hooks
            .run(event, matched, &input, &fields, cancel)
            .await
    }

    /// Runs the `Notification` hooks: a person is needed, for the reason `kind`. They run in the
    /// background and their answers are ignored. Must be called within a Tokio runtime.
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
        let input = self.input_apart().await;
        let fields = json!({
            "task_id": task.id,
            "task_subject": task.subject,
            "task_description": task.description,
            "teammate_name": input.member,
            "team_name": input.team,
        });
        let id: TaskId = task.id;
        let refine = move |input: &mut HookInput| input.task = Some(id);
        self.fire_as(event, None, refine, fields, cancel).await
    }
}
