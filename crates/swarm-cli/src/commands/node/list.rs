//! `swarm node list`.

use std::process::ExitCode;

use serde_json::{Value, json};
use swarm_store::{BlockOn as _, NodeView};
use swarm_supervisor::NodeState;
use swarm_ui::print::{Cell, Table, short_duration};

use crate::app::App;
use crate::commands::hub::{HUB_OF_NODES, HubArgs, hub_failure};
use crate::failure::Result;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
CLOCK says how far the node's clock is ahead of the hub's or behind it.

Examples:
  swarm node list
  swarm node list --hub nats://build.example:4222 --credentials ~/hub")]
#[command(mut_arg("hub", |hub| hub.help(HUB_OF_NODES)))]
pub(crate) struct NodeListArgs {
    #[command(flatten)]
    hub: HubArgs,
}

pub(super) fn run(app: &App, args: &NodeListArgs) -> Result<ExitCode> {
    let hub = args.hub.or_of_team(app)?;
    let nodes = app.hubs.nodes(hub.clone())?.nodes().block_on();
    let nodes = nodes.map_err(|error| hub_failure(error, Some(&hub)))?;
    if app.out.json {
        let records: Vec<Value> = nodes.iter().map(record).collect();
        app.out.json(&records)?;
    } else if nodes.is_empty() {
        app.out
            .say("no node has joined: run `swarm node join URL` on a machine that runs members");
    } else {
        app.out.table(&table(&nodes).spare([6, 4]))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn record(node: &NodeView) -> Value {
    let report = &node.report;
    json!({
        "name": node.name,
        "state": NodeState::of(node).to_string(),
        "slots": report.slots,
        "used": report.members.len(),
        "labels": report.labels,
        "members": report.members,
        "host": report.host,
        "version": report.version,
        "clockAheadMs": report.clock_ahead_ms,
        "since": report.since,
    })
}

fn table(nodes: &[NodeView]) -> Table {
    let headings = [
        "NODE", "STATE", "SLOTS", "CLOCK", "LABELS", "HOST", "MEMBERS", "VERSION",
    ];
    let mut table = Table::new(headings).right(2..=3);
    for node in nodes {
        let report = &node.report;
        let state = NodeState::of(node);
        let shown = Cell::new(state.to_string());
        let listed = |words: Vec<String>| {
            let text = words.join(" ");
            Cell::new(if text.is_empty() { "-" } else { &text })
        };
        table.row([
            Cell::new(&node.name),
            match state {
                NodeState::Ready => shown.good(),
                NodeState::Draining => shown.warn(),
                NodeState::Lost => shown.bad(),
            },
            Cell::new(format!("{}/{}", report.members.len(), report.slots)),
            Cell::new(clock(report.clock_ahead_ms)),
            listed(report.labels.iter().map(ToString::to_string).collect()),
            Cell::new(&report.host),
            listed(report.members.iter().map(ToString::to_string).collect()),
            Cell::new(&report.version),
        ]);
    }
    table
}

/// Describes a clock, of which the hub's is ahead by `hub_ahead_ms`.
fn clock(hub_ahead_ms: i64) -> String {
    let differs = short_duration(hub_ahead_ms.unsigned_abs());
    match hub_ahead_ms {
        0 => differs,
        1.. => format!("{differs} behind"),
        _ => format!("{differs} ahead"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_ahead_of_the_hubs_or_behind_it() {
        let shown = [0, 3, -1500, -600_004].map(clock);
        assert_eq!(
            shown,
            ["0 ms", "3 ms behind", "1.5 s ahead", "10m 00s ahead"]
        );
    }
}
