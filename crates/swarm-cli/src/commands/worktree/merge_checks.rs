//! Checks of the owner's tasks before a merge by hand.

use swarm_protocol::{AgentId, ErrorKind, TaskStatus};
use swarm_store::BlockOn as _;
use swarm_team::shell_in_merge;
use swarm_tools::run_check;
use swarm_worktree::MergeCandidate;

use crate::app::App;
use crate::commands::runtime;
use crate::commands::task::check_shell;
use crate::failure::Failure;

/// Runs the checks of the owner's open tasks on a merge. Fails at the first that does not pass.
pub(super) fn run_checks(app: &App, candidate: &mut MergeCandidate) -> Result<(), Failure> {
    let owner = candidate.record().owner.clone();
    let (Some(team), Some(member), None) = (owner.team, owner.member, owner.agent) else {
        return Ok(());
    };
    let files = app.store.team(&team);
    // The team may be gone.
    let Ok(tasks) = files.tasks().block_on() else {
        return Ok(());
    };
    let owner = AgentId::new(member, team);
    let worktree = candidate.record().path.clone();
    let is_open = |task: &&swarm_protocol::Task| {
        task.is_owned_by(&owner) && task.status != TaskStatus::Completed
    };
    // One for all checks: a task's shell keeps its sandbox, whose proxy runs on this runtime.
    let runtime = runtime()?;
    for task in tasks.tasks.iter().filter(is_open) {
        let Some(shell) = check_shell(app, &*files, task.id)? else {
            continue;
        };
        let merge = candidate.check_out()?;
        let shell = shell_in_merge(&shell, &worktree, &merge);
        for check in &task.swarm().checks {
            let ran = runtime.block_on(run_check(&check.command, &shell));
            let why = match ran {
                Ok(ran) if ran.exit_code == Some(0) => continue,
                Ok(ran) => format!("failed:\n{}", ran.output),
                Err(why) => format!("did not run: {why}"),
            };
            let message = format!(
                "{} was not merged: check `{}` of task #{} {why}",
                candidate.record().branch,
                check.command,
                task.id
            );
            return Err(
                Failure::new(ErrorKind::Refused, message).with_hint("`--no-checks` merges anyway")
            );
        }
    }
    Ok(())
}
