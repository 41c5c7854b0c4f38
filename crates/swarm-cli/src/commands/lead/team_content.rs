//! What the team panel shows.

use std::time::{Duration, Instant};

use swarm_protocol::{ContextUse, Task, TaskStatus, UnixMs};
use swarm_store::{MemberView, TaskList, TeamView};
use swarm_ui::{PanelContent, PanelMember, PanelTask};

use crate::commands::members::since;

/// Returns the content of the panel at the time `now`: the lead first, then the others in roster
/// order.
pub(super) fn team_content(view: &TeamView, tasks: &TaskList, now: UnixMs) -> PanelContent {
    let (mut members, mates): (Vec<_>, Vec<_>) = view
        .members
        .iter()
        .partition(|view| view.member.name.is_lead());
    members.extend(mates);
    let members = members.into_iter();
    PanelContent {
        members: members
            .map(|member| row(view, member, tasks, now))
            .collect(),
        tasks: tasks
            .tasks
            .iter()
            .map(|task| task_row(task, tasks))
            .collect(),
    }
}

fn row(team: &TeamView, view: &MemberView, tasks: &TaskList, now: UnixMs) -> PanelMember {
    let member = &view.member;
    let report = view.report.as_ref();
    let id = member.id_in(&team.config.name);
    let is_own = |task: &&Task| task.status == TaskStatus::InProgress && task.is_owned_by(&id);
    let task = tasks.tasks.iter().find(is_own);
    let task = task.map(|task| format!("#{} {}", task.id, task.subject));
    let detail = report.and_then(|report| report.detail.clone());
    PanelMember {
        name: member.name.clone(),
        // The lead has no colour: red suggests an error.
        color: member.known_color().filter(|_| !member.name.is_lead()),
        state: view.state,
        since: since(view)
            .and_then(|at| Instant::now().checked_sub(Duration::from_millis(now.since(at)))),
        task: task.or(detail).unwrap_or_default(),
        tokens: report.map_or(0, |report| report.usage.total()),
        context: report
            .and_then(|report| report.context)
            .map(ContextUse::percent),
    }
}

fn task_row(task: &Task, tasks: &TaskList) -> PanelTask {
    PanelTask {
        id: task.id.to_string(),
        state: tasks.state(task).name(),
        owner: task.owner.clone().unwrap_or_default(),
        subject: task.subject.clone(),
    }
}
