//! Summary of a team for its next lead.

use serde_json::{Value, json};
use swarm_protocol::{Task, TeamConfig, TeamName, UnixMs, task_numbers, with_commas};
use swarm_store::MemberView;
use swarm_supervisor::{DeadMember, Handover, SpawnedMember};
use swarm_ui::print::counted;

use crate::app::App;
use crate::commands::{members, requests, task};
use crate::failure::Result;

type Back = (DeadMember, SpawnedMember);

pub(super) fn show(app: &App, config: &TeamConfig, found: &Handover, back: &[Back]) -> Result<()> {
    if app.out.json {
        return app.out.json(&document(config, found, back)?);
    }
    app.out.data(&lines(app, found, back).join("\n"))
}

fn lines(app: &App, found: &Handover, back: &[Back]) -> Vec<String> {
    let team = &found.team;
    let mut lines = vec![format!("you now lead team {team}")];
    lines.push(match found.unread {
        Some(0) => "mail: none unread".to_owned(),
        Some(count) => {
            let unread = counted(count as u64, "unread message");
            format!(
                "mail: {unread}; read with `swarm inbox team-lead --unread --ack --team {team}`"
            )
        }
        None => format!(
            "mail: the lead's inbox cannot be read; see `swarm inbox team-lead --team {team}`"
        ),
    });
    lines.extend(tasks(found));
    for request in &found.requests {
        let request = requests::in_short(request, app.command_prefix());
        lines.push(format!("pending request: {request}"));
    }
    for (dead, _) in back {
        let again = tasks_of(dead).map_or_else(String::new, |tasks| format!(" with {tasks}"));
        lines.push(format!("started again: {}{again}", dead.member.name));
    }
    let now = app.clock.now();
    for view in &found.live {
        let name = &view.member.name;
        if !back.iter().any(|(dead, _)| dead.member.name == *name) {
            lines.push(format!("alive: {name}, {}", doing(view, now)));
        }
    }
    for dead in &found.dead {
        let had = tasks_of(dead).map_or_else(String::new, |tasks| format!(", had {tasks}"));
        let how = if dead.stopped_by_person {
            "stopped by a person, not started again"
        } else {
            "dead"
        };
        lines.push(format!("{how}: {}{had}", dead.member.name));
        lines.push(format!("  restart it: {}", command(team, dead)));
    }
    let died = found.dead.iter().filter(|dead| !dead.stopped_by_person);
    if died.count() > 1 {
        lines.push(format!("all of them: swarm resume {team} --respawn"));
    }
    lines
}

/// Lists open tasks by owner.
fn tasks(found: &Handover) -> Vec<String> {
    let list = &found.tasks;
    let open: Vec<&Task> = list
        .tasks
        .iter()
        .filter(|task| !list.state(task).is_terminal())
        .collect();
    if open.is_empty() {
        return vec!["tasks: none open".to_owned()];
    }
    let mut owners: Vec<Option<&str>> = open.iter().map(|task| task.owner.as_deref()).collect();
    owners.sort_unstable();
    owners.dedup();
    let of = |owner: Option<&str>| {
        let its = open.iter().filter(|task| task.owner.as_deref() == owner);
        let words = its.map(|task| {
            let subject = swarm_ui::clean_line(&task.subject);
            format!("#{} {subject} ({})", task.id, list.state(task).name())
        });
        let owned = owner.map_or_else(
            || "unassigned tasks".to_owned(),
            |name| format!("tasks of {name}"),
        );
        format!("{owned}: {}", with_commas(words))
    };
    owners.into_iter().map(of).collect()
}

fn tasks_of(dead: &DeadMember) -> Option<String> {
    let ids = task_numbers(dead.tasks.iter().map(|task| task.id));
    (!ids.is_empty()).then_some(ids)
}

/// Describes what a member is doing and since when.
fn doing(view: &MemberView, now: UnixMs) -> String {
    let state = view.state.name();
    members::since(view).map_or_else(
        || state.to_owned(),
        |since| format!("{state} for {}", members::age(now, since)),
    )
}

/// Returns the commands that restart a member with its tasks.
fn command(team: &TeamName, dead: &DeadMember) -> String {
    let name = &dead.member.name;
    let mut steps = vec![format!("swarm spawn {name} --team {team}")];
    for task in &dead.tasks {
        steps.push(format!(
            "swarm task update {} --owner {name} --team {team}",
            task.id
        ));
    }
    steps.join(" && ")
}

fn document(config: &TeamConfig, found: &Handover, back: &[Back]) -> Result<Value> {
    let all = &found.tasks.tasks;
    let mut document = json!({
        "name": config.name,
        "leadSessionId": config.lead_session_id,
        "state": "by-hand",
        "unread": found.unread,
        "requests": found.requests,
    });
    let open = all
        .iter()
        .filter(|task| !found.tasks.state(task).is_terminal());
    document["tasks"] = open
        .map(|one| task::record(one, &found.tasks))
        .collect::<Result<Value>>()?;
    document["live"] = found
        .live
        .iter()
        .map(|view| members::record(view, all, &found.team))
        .collect::<Result<Value>>()?;
    let dead = found.dead.iter().map(|dead| {
        let ids: Vec<_> = dead.tasks.iter().map(|task| task.id).collect();
        json!({ "name": dead.member.name, "tasks": ids, "command": command(&found.team, dead), "stoppedByPerson": dead.stopped_by_person })
    });
    document["dead"] = dead.collect();
    let back = back.iter().map(|(dead, spawned)| {
        let ids: Vec<_> = dead.tasks.iter().map(|task| task.id).collect();
        json!({ "name": dead.member.name, "tasks": ids, "spawnId": spawned.spawn_id })
    });
    document["respawned"] = back.collect();
    Ok(document)
}
