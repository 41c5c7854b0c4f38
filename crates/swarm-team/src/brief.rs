//! A short summary of a team for a model.

use swarm_permissions::HandoffScan;
use swarm_protocol::{MemberName, RequestState, Task};
use swarm_store::{BlockOn as _, StoreError, TaskList, Team};

/// Maximum bytes of the lines of one part. All parts with their headings are below 2 KiB.
const MEMBERS: usize = 600;
const TASKS: usize = 800;
const REQUESTS: usize = 400;

/// Maximum bytes of a line.
const LINE: usize = 120;

/// Lists members with their states, open tasks and open requests in at most 2 KiB. `reader` is the
/// member that reads it. A warning takes the place of a line in which `scan` finds a risk.
///
/// # Errors
/// [`StoreError`] if the team's files cannot be read.
pub fn team_brief(
    team: &dyn Team,
    reader: &MemberName,
    scan: HandoffScan,
) -> Result<String, StoreError> {
    let members = team.member_view().block_on()?;
    let others = members.iter().filter(|view| view.member.name != *reader);
    let members: Vec<String> = others
        .map(|view| {
            let kind = view.member.agent_type.as_deref();
            let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
            format!("{}{kind}: {}", view.member.name, view.state.name())
        })
        .collect();
    let list = team.tasks().block_on()?;
    let open = list.tasks.iter();
    let open = open.filter(|task| !list.state(task).is_terminal());
    let tasks: Vec<String> = open.map(|task| task_line(task, &list, scan)).collect();
    let requests = team.requests().block_on()?.requests.into_iter();
    let requests: Vec<String> = requests
        .filter(|request| request.state == RequestState::Open)
        .map(|request| {
            let what = scan.checked(&request.description);
            format!("{} asks: {what}", request.from)
        })
        .collect();
    let parts = [
        part(
            &format!("You are {reader} of team {}. Other members", team.name()),
            &members,
            MEMBERS,
        ),
        part("Open tasks", &tasks, TASKS),
        part("Requests that wait for a person", &requests, REQUESTS),
    ];
    Ok(parts.join("\n"))
}

fn task_line(task: &Task, list: &TaskList, scan: HandoffScan) -> String {
    let state = list.state(task).name();
    let owner = task.owner.as_deref();
    let owner = owner.map_or_else(String::new, |owner| {
        let name = owner.split_once('@').map_or(owner, |(name, _)| name);
        format!(", {name}")
    });
    let subject = scan.checked(&task.subject);
    format!("#{} [{state}{owner}] {subject}", task.id)
}

/// Formats a heading with a line for each item; omitted items are counted.
fn part(heading: &str, items: &[String], bytes: usize) -> String {
    let heading = one_line(heading);
    if items.is_empty() {
        return format!("{heading}: none");
    }
    let mut lines = vec![format!("{heading} ({}):", items.len())];
    let mut room = bytes;
    for (at, item) in items.iter().enumerate() {
        let line = format!("- {}", one_line(item));
        let Some(left) = room.checked_sub(line.len() + 1) else {
            lines.push(format!("- and {} more", items.len() - at));
            break;
        };
        room = left;
        lines.push(line);
    }
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.len() <= LINE {
        return line;
    }
    format!("{}…", &line[..line.floor_char_boundary(LINE)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted() {
        let items: Vec<String> = (0..100).map(|number| format!("item\n{number}")).collect();
        let text = part("Open tasks", &items, 40);
        assert_eq!(
            text,
            "Open tasks (100):\n- item 0\n- item 1\n- item 2\n- item 3\n- and 96 more"
        );
        assert_eq!(part("Open tasks", &[], 40), "Open tasks: none");
    }
}
