//! The shell in which a command runs the checks of a task.

use std::sync::Arc;

use swarm_protocol::{MemberName, TaskId, TaskStatus};
use swarm_store::{BlockOn as _, Team};
use swarm_tools::{Caller, Confinement, ToolContext};

use crate::app::App;
use crate::failure::Failure;
use crate::shell_guards::shell_guards;
use crate::spawn_context::teammate_program;

/// Returns the shell for the checks of a task: in its owner's directory, with the sandbox that the
/// owner's commands have. `None` for a task without checks.
pub(in crate::commands) fn check_shell(
    app: &App,
    team: &dyn Team,
    id: TaskId,
) -> Result<Option<ToolContext>, Failure> {
    let task = team.task(&id).block_on()?;
    if task.swarm().checks.is_empty() || task.status == TaskStatus::Completed {
        return Ok(None);
    }
    let config = team.config().block_on()?;
    let owner = config
        .members
        .iter()
        .find(|member| task.is_owned_by(&member.id_in(team.name())));
    let directory = owner.map(|owner| owner.cwd.as_path());
    let directory = directory.filter(|directory| directory.is_dir());
    let name = owner.map_or_else(MemberName::lead, |owner| owner.name.clone());
    let worktree = owner.and_then(|owner| owner.worktree_path.as_deref());
    let guards = shell_guards(app, &teammate_program(&app.env)?)?;
    Ok(Some(ToolContext {
        env: Arc::new(app.env.shell(&app.settings.pass)),
        guards: Arc::new(guards),
        confine: worktree.map(|worktree| Arc::new(Confinement::new(worktree))),
        ..ToolContext::new(
            directory.unwrap_or(&app.env.cwd).to_owned(),
            Caller::new(name),
        )
    }))
}
