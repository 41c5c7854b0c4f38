//! `swarm team show`.

use serde_json::{Value, json};
use swarm_panes::backend_kind;
use swarm_protocol::TeamConfig;
use swarm_store::{BlockOn as _, MemberView};
use swarm_ui::print::{Cell, Table};

use super::list::{ENDED, how_to_continue, member_state, state_in};
use crate::app::App;
use crate::commands::members;
use crate::failure::Result;
use crate::output::plain;

pub(super) fn run(app: &App, name: Option<&str>) -> Result<()> {
    let team = app.named_team(name)?;
    let seen = team.view().block_on()?;
    let state = state_in(&seen);
    let (config, views) = (seen.config, seen.members);
    if app.out.json {
        let tasks = team.tasks().block_on()?.tasks;
        let mut record = serde_json::to_value(&config)?;
        record["state"] = json!(state);
        record["members"] = views
            .iter()
            .map(|view| members::record(view, &tasks, team.name()))
            .collect::<Result<Value>>()?;
        return app.out.json(&record);
    }
    app.out.data(&heading(&config, &team.location(), state))?;
    app.out.table(&roster(&views, state))
}

fn heading(config: &TeamConfig, location: &str, state: &str) -> String {
    let mut lines = vec![format!("team {} ({state})", config.name)];
    if let Some(description) = &config.description {
        lines.push(plain(description));
    }
    if let Some(lead) = config.lead_process.as_ref().filter(|_| state == "led") {
        lines.push(format!("led by process {}", lead.pid));
    }
    if let Some(lead) = config.lead_process.as_ref().filter(|_| state == "orphaned") {
        lines.push(format!(
            "its lead, process {}, is lost: `swarm resume {}` takes the team over",
            lead.pid, config.name
        ));
    }
    if state == ENDED {
        lines.push(how_to_continue(&config.name));
    }
    lines.push(format!("stored in {location}"));
    lines.join("\n")
}

fn roster(views: &[MemberView], state: &str) -> Table {
    let mut table = Table::new([
        "MEMBER",
        "STATE",
        "TYPE",
        "MODEL",
        "MODE",
        "RUNS IN",
        "DIRECTORY",
    ])
    .spare([2, 6, 4]);
    for view in views {
        let member = &view.member;
        let backend = member.backend_type.as_ref();
        let place = match backend.and_then(backend_kind) {
            Some(kind) => {
                let server = members::server_of(member, views);
                kind.describe(&member.tmux_pane_id, server)
            }
            None => backend.map_or("", |backend| backend.name()).to_owned(),
        };
        table.row([
            Cell::name(&member.name, member.known_color()),
            member_state(view, state),
            Cell::new(member.agent_type.as_deref().unwrap_or_default()),
            Cell::new(member.model.as_deref().unwrap_or_default()),
            Cell::new(member.mode.as_deref().unwrap_or_default()),
            Cell::new(place),
            Cell::new(member.cwd.to_string_lossy()),
        ]);
    }
    table
}
