//! Hooks of a member and their input.

use std::sync::{Arc, Weak};

use swarm_hooks::{AgentHooks, HookInput, Hooks};
use swarm_protocol::{AgentId, MemberName, PermissionMode, TaskId, TaskStatus};
use swarm_store::{BlockOn as _, Team};

use crate::MemberContext;

/// Sets the hooks of a member. `base` has its constant fields and `mode` returns its effective
/// mode; the team and its current task are read whenever a hook runs.
pub fn member_hooks(
    context: &Arc<MemberContext>,
    hooks: Hooks,
    base: HookInput,
    mode: impl Fn() -> PermissionMode + Send + Sync + 'static,
) -> AgentHooks {
    let weak = Arc::downgrade(context);
    let hooks = AgentHooks::new(hooks, move || {
        let mut subject = base.clone();
        subject.permission_mode = Some(mode());
        describe(&weak, &mut subject);
        subject
    });
    context.set_hooks(hooks.clone());
    hooks
}

fn describe(context: &Weak<MemberContext>, subject: &mut HookInput) {
    let Some(context) = context.upgrade() else {
        return;
    };
    subject.member = Some(context.name.clone());
    let Some(team) = context.team() else { return };
    subject.agent_id = Some(AgentId::new(context.name.clone(), team.name().clone()).to_string());
    if !context.is_lead() {
        subject.parent = Some(AgentId::new(MemberName::lead(), team.name().clone()).to_string());
    }
    subject.task = task(&context, &*team);
    subject.team = Some(team.name().clone());
}

/// Returns the first task that the member has in progress.
fn task(context: &MemberContext, team: &dyn Team) -> Option<TaskId> {
    let own = AgentId::new(context.name.clone(), team.name().clone());
    let list = team.tasks().block_on().ok()?;
    let mut tasks = list.tasks.iter();
    let task = tasks.find(|task| task.status == TaskStatus::InProgress && task.is_owned_by(&own));
    task.map(|task| task.id)
}
