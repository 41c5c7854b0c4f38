//! Running the checks of a task before it is completed.

use swarm_protocol::{CheckRun, TaskCheck, TaskId, TaskStatus, UnixMs};
use swarm_store::{Actor, TaskChange, Team};
use swarm_tools::{ToolContext, run_check};

use crate::CompletionError;

/// Where the checks of a task run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckPlace {
    /// In the directory of its owner.
    Owner,
    /// On the merge of its owner's work into the target.
    Merge,
}

/// Runs the checks of a task that is not completed. Returns their runs, which have all passed; they
/// belong to the change that completes the task. If one fails, the runs are recorded in the task.
///
/// # Errors
/// [`CompletionError::Check`] with the output of the first check that failed, and errors of the
/// store.
pub(crate) async fn passed_checks(
    team: &dyn Team,
    id: &TaskId,
    by: &Actor,
    (shell, place): (Option<&ToolContext>, CheckPlace),
    now: impl Fn() -> UnixMs,
) -> Result<Vec<CheckRun>, CompletionError> {
    let task = team.task(id).await?;
    let checks = task.checks();
    if checks.is_empty() || task.status == TaskStatus::Completed {
        return Ok(Vec::new());
    }
    let refused =
        |why: String| CompletionError::Check(format!("task #{id} is not completed: {why}"));
    let shell = shell.ok_or_else(|| refused("its checks cannot run here".to_owned()))?;
    let mut runs = Vec::new();
    for check in &checks {
        let ran = run_check(&check.command, shell).await;
        let ran =
            ran.map_err(|why| refused(format!("check `{}` did not run: {why}", check.command)))?;
        runs.push(CheckRun {
            at: now(),
            exit_code: ran.exit_code,
            duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            output: ran.output,
        });
    }
    let failed = checks.iter().zip(&runs).find(|(_, run)| !run.has_passed());
    let Some((check, run)) = failed else {
        return Ok(runs);
    };
    let why = refused(failure(check, run, place));
    let change = TaskChange {
        check_runs: runs,
        ..TaskChange::default()
    };
    team.update_task(id, change, by).await?;
    Err(why)
}

fn failure(check: &TaskCheck, run: &CheckRun, place: CheckPlace) -> String {
    let seconds = run.duration_ms / 1000;
    let merged = match place {
        CheckPlace::Owner => "",
        CheckPlace::Merge => " on the merge of its work into the target",
    };
    let mut text = format!(
        "check `{}`, set by {}, {}{merged} after {seconds} s",
        check.command,
        check.by,
        run.result()
    );
    if !run.output.is_empty() {
        text.push_str(". The end of its output:\n");
        text.push_str(&run.output);
    }
    text
}

/// Describes a check and its last run in one line: `cargo test (set by team-lead): passed in 12 s`.
pub fn check_line(check: &TaskCheck) -> String {
    let state = match &check.last {
        None => "not run yet".to_owned(),
        Some(run) => format!("{} in {} s", run.result(), run.duration_ms / 1000),
    };
    format!("`{}` (set by {}): {state}", check.command, check.by)
}
