//! Detects whether the work of a run is done, in progress, or stalled.

use swarm_permissions::HandoffScan;
use swarm_protocol::{MemberState, Task, TaskState, TaskStatus, unverified};
use swarm_store::{MemberView, TaskList};

/// The message to the lead when all tasks are closed and no member works.
const REPORT_REQUEST: &str = "\
All tasks are closed and no teammate is working. Write the final report now. It is the result of this run, \
and the user reads only this text. State what was done, found and changed (with file names), how it was checked, and what \
failed or remains. If you have already reported, repeat the report in full. Do not start new work.";

/// Returns that message, with the completed tasks that no checks have verified. Their titles are
/// scanned.
pub(super) fn report_request(tasks: &TaskList, scan: HandoffScan) -> String {
    let completed = tasks
        .tasks
        .iter()
        .filter(|task| task.status == TaskStatus::Completed);
    let open = completed.filter_map(|task| {
        let why = unverified(&task.checks())?;
        let subject = scan.checked(&task.subject);
        Some(format!("\n- #{} ({subject}): {why}", task.id))
    });
    let open: String = open.collect();
    if open.is_empty() {
        return REPORT_REQUEST.to_owned();
    }
    format!(
        "{REPORT_REQUEST}\nUnverified results, of which the report says so unless you have checked them:{open}"
    )
}

/// Progress of a run according to the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Situation {
    /// Every task is terminal and no member works.
    Done,
    /// A member works or has unread mail.
    Busy,
    /// Something changed between the two reads: a member may have given work to another that was
    /// already counted as idle.
    Moving,
    /// Tasks are open and all members are idle.
    Stalled,
}

/// Decides by the tasks and by two reads of the members, one before and one after the tasks are
/// read. Reading many members takes time, so only a state that both reads agree on is consistent.
pub(super) fn situation(
    before: &[MemberView],
    tasks: &TaskList,
    after: &[MemberView],
) -> Situation {
    if after.iter().any(is_busy) {
        return Situation::Busy;
    }
    if before != after {
        return Situation::Moving;
    }
    match open_tasks(tasks).next() {
        Some(_) => Situation::Stalled,
        None => Situation::Done,
    }
}

/// Whether the work is finished: every task is terminal or, without tasks, no member works and the
/// lead has read every report.
pub(super) fn is_work_finished(
    tasks: &TaskList,
    members: &[MemberView],
    has_unread_report: bool,
) -> bool {
    if tasks.tasks.is_empty() {
        return !has_unread_report && !members.iter().any(is_busy);
    }
    open_tasks(tasks).next().is_none()
}

fn open_tasks(tasks: &TaskList) -> impl Iterator<Item = &Task> {
    let all = tasks.tasks.iter();
    all.filter(move |task| !tasks.state(task).is_terminal())
}

fn is_busy(view: &MemberView) -> bool {
    if view.member.name.is_lead() {
        return false;
    }
    match view.state {
        MemberState::Stopped | MemberState::Dead => false,
        // Another program runs it: it reports its turns in the roster, or nothing.
        MemberState::Foreign => match view.member.is_active {
            Some(is_active) => is_active || view.unread.is_none_or(|unread| unread > 0),
            None => false,
        },
        state if state.waits_for_mail() => view.unread.is_none_or(|unread| unread > 0),
        _ => true,
    }
}

/// The names of the paused members if no other member is busy: nothing happens until a person
/// continues them.
pub(super) fn paused_alone(members: &[MemberView]) -> Option<String> {
    let is_paused = |view: &&MemberView| view.state == MemberState::Paused;
    let (paused, others): (Vec<_>, Vec<_>) = members
        .iter()
        .filter(|view| is_busy(view))
        .partition(is_paused);
    let names: Vec<&str> = paused
        .iter()
        .map(|view| view.member.name.as_str())
        .collect();
    (others.is_empty() && !names.is_empty()).then(|| names.join(", "))
}

pub(super) fn any_failed(tasks: &TaskList) -> bool {
    tasks
        .tasks
        .iter()
        .any(|task| tasks.state(task) == TaskState::Failed)
}

/// Returns the message to the lead when all members are idle and tasks are open. Their titles are
/// scanned.
pub(super) fn stalled_text(tasks: &TaskList, scan: HandoffScan) -> String {
    let open: Vec<String> = open_tasks(tasks)
        .map(|task| {
            let owner = task.owner.as_deref().unwrap_or("no owner");
            format!(
                "#{} [{}] {} ({owner})",
                task.id,
                tasks.state(task).name(),
                scan.checked(&task.subject)
            )
        })
        .collect();
    format!(
        "All agents are idle but these tasks are open:\n{}\nAssign them, do them yourself, or delete them. If \
         you end your turn with nothing changed, the run ends.",
        open.join("\n")
    )
}
