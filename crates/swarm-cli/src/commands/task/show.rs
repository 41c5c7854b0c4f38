//! `swarm task show`.

use swarm_protocol::{Task, TaskId, UnixMs};
use swarm_store::{BlockOn as _, TaskList};
use swarm_team::check_line;

use super::record;
use crate::app::App;
use crate::commands::members::age;
use crate::failure::Failure;
use crate::output::with_commas;

pub(super) fn run(app: &App, id: TaskId) -> Result<(), Failure> {
    let team = app.team()?;
    let task = team.task(&id).block_on()?;
    let list = team.tasks().block_on()?;
    let text = text(&task, &list, app.clock.now());
    app.out.result(&record::record(&task, &list)?, &text)
}

fn text(task: &Task, list: &TaskList, now: UnixMs) -> String {
    let mark = task.swarm();
    let mut lines = vec![format!(
        "#{} [{}] {}",
        task.id,
        list.state(task).name(),
        task.subject
    )];
    if let Some(owner) = &task.owner {
        let claimed = mark
            .claimed_at
            .map_or_else(String::new, |at| format!(", claimed {} ago", age(now, at)));
        lines.push(format!("owner       {owner}{claimed}"));
    }
    let edges = |ids: &[TaskId]| {
        with_commas(ids.iter().map(|id| match list.get(*id) {
            Some(other) => format!("#{id} ({})", list.state(other).name()),
            None => format!("#{id} (missing)"),
        }))
    };
    if !task.blocked_by.is_empty() {
        lines.push(format!("waits for   {}", edges(&task.blocked_by)));
    }
    if !task.blocks.is_empty() {
        lines.push(format!("blocks      {}", edges(&task.blocks)));
    }
    if mark.attempt > 0 {
        let note = mark.note.as_ref();
        let ending = note.map_or_else(String::new, |note| format!("; the last: {note}"));
        lines.push(format!(
            "attempts    {} failed when their owner stopped{ending}",
            mark.attempt
        ));
    }
    if let Some(failed) = &mark.failed {
        lines.push(format!("failed      {}", failed.reason));
    }
    for check in &mark.checks {
        let ran = check.last.as_ref();
        let ago = ran.map_or_else(String::new, |run| format!(", {} ago", age(now, run.at)));
        lines.push(format!("check       {}{ago}", check_line(check)));
        let failed = ran.filter(|run| !run.has_passed());
        let output = failed.map_or("", |run| &run.output);
        lines.extend(output.lines().map(|line| format!("            {line}")));
    }
    if let Some(result) = &mark.result {
        lines.push(format!("result      {result}"));
    }
    if !task.description.trim().is_empty() {
        lines.push(String::new());
        lines.push(task.description.trim_end().to_owned());
    }
    lines.join("\n")
}
