//! Text and JSON forms of a process.

use serde_json::{Value, json};
use swarm_supervisor::{ProcessStatus, SeenProcess};

use crate::app::App;
use crate::commands::members;

/// Returns the member that a process belongs to, as `NAME@TEAM` as far as known.
pub(super) fn whose(team: Option<&str>, member: Option<&str>) -> String {
    match (member, team) {
        (Some(member), Some(team)) => format!("{member}@{team}"),
        (Some(member), None) => member.to_owned(),
        (None, Some(team)) => format!("unknown@{team}"),
        (None, None) => "unknown".to_owned(),
    }
}

pub(super) fn record(seen: &SeenProcess) -> Value {
    let (stray, root) = match &seen.standing {
        ProcessStatus::Orphan(stray) => (Some(stray.to_string()), None),
        ProcessStatus::Elsewhere(root) => (None, root.as_ref()),
        ProcessStatus::Placed { .. } | ProcessStatus::Unknown => (None, None),
    };
    let lead_lost = matches!(
        seen.standing,
        ProcessStatus::Placed {
            lead_lost: true,
            ..
        }
    );
    json!({
        "team": seen.team,
        "member": seen.member,
        "kind": seen.kind.name(),
        "pid": seen.pid,
        "procStart": seen.start.to_string(),
        "spawnId": seen.spawn_id,
        "ageSeconds": seen.age.map(|age| age.as_secs()),
        "state": state(&seen.standing),
        "stray": stray,
        "leadLost": lead_lost,
        "root": root,
        "frozen": seen.frozen,
        "command": seen.command,
    })
}

pub(super) fn state(standing: &ProcessStatus) -> &'static str {
    match standing {
        ProcessStatus::Placed { state, .. } => state.name(),
        ProcessStatus::Orphan(_) => "stray",
        ProcessStatus::Elsewhere(_) => "elsewhere",
        ProcessStatus::Unknown => "unknown",
    }
}

/// Returns notes about a process besides its state.
pub(super) fn note(app: &App, seen: &SeenProcess) -> String {
    let frozen = seen.frozen.then(|| members::frozen(seen.pid));
    let notes = [Some(place(app, seen)), frozen].into_iter().flatten();
    let notes: Vec<String> = notes.filter(|note| !note.is_empty()).collect();
    notes.join("; ")
}

/// Returns a note about the team of a process.
fn place(app: &App, seen: &SeenProcess) -> String {
    match &seen.standing {
        ProcessStatus::Orphan(stray) => stray.to_string(),
        ProcessStatus::Placed {
            lead_lost: true, ..
        } => "its lead is lost".to_owned(),
        ProcessStatus::Placed { .. } => String::new(),
        ProcessStatus::Elsewhere(Some(root)) => {
            format!("of the config directory {}", root.display())
        }
        ProcessStatus::Elsewhere(None) => "of an unknown config directory".to_owned(),
        ProcessStatus::Unknown if seen.team.is_none() => "its lead has no team yet".to_owned(),
        ProcessStatus::Unknown => format!(
            "the roster of its team below {} cannot be read",
            app.root.display()
        ),
    }
}
