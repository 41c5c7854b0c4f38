//! Checks of the hubs of this machine's teams.

use std::path::Path;

use swarm_config::{Environment, Settings};
use swarm_protocol::TeamName;
use swarm_store::{
    BlockOn as _, HubReport, HubSettings, NodeView, RootStore, StoreError, TeamStore as _,
};
use swarm_supervisor::NodeState;

use super::finding::Finding;
use crate::app::store_at;
use crate::hub_credentials::{credentials_files, exposure};

const NAME: &str = "hub";

/// Difference of clocks beyond which times of several machines are hard to compare.
const CLOCKS: i64 = 2000;

/// Oldest version with what teams need.
const OLDEST: (u64, u64) = (2, 9);

pub(super) fn check(env: &Environment, settings: &Settings, root: &Path) -> Vec<Finding> {
    let credentials = credentials_files(env, settings, root);
    let store = store_at(root);
    let teams = store.teams().block_on().unwrap_or_default();
    let of_teams = teams.iter().filter_map(|team| of_team(&store, team));
    let exposed = credentials.iter().filter_map(|file| exposure(file));
    let exposed = exposed.map(|(what, how)| Finding::warning(NAME, what, how));
    let hubs = store.hubs().unwrap_or_default();
    let mut nodes: Vec<Finding> = Vec::new();
    for finding in hubs.iter().filter_map(|hub| of_nodes(&store, hub)) {
        // A hub is known once for each credentials file of its teams.
        if !nodes.contains(&finding) {
            nodes.push(finding);
        }
    }
    of_teams.chain(exposed).chain(nodes).collect()
}

/// Reports the nodes of a hub, if there are any. A hub that cannot be used is reported with its teams.
fn of_nodes(store: &RootStore, hub: &HubSettings) -> Option<Finding> {
    let nodes = match store.nodes(hub.clone()).ok()?.nodes().block_on() {
        Ok(nodes) => nodes,
        Err(error @ StoreError::HubForbidden { .. }) => {
            let hint = error.hint().unwrap_or_default();
            return Some(Finding::warning(NAME, error.to_string(), hint));
        }
        Err(_) => return None,
    };
    let shown = |node: &NodeView| format!("{} ({})", node.name, NodeState::of(node));
    let listed: Vec<String> = nodes.iter().map(shown).collect();
    let found = format!("nodes of {}: {}", hub.url, listed.join(", "));
    let lost = nodes
        .iter()
        .find(|node| NodeState::of(node) == NodeState::Lost);
    match lost {
        _ if nodes.is_empty() => None,
        None => Some(Finding::ok(NAME, found)),
        Some(lost) => {
            let hint = format!(
                "run `swarm node join` again on {}, or remove the node with `swarm node drain {}`",
                lost.report.host, lost.name
            );
            Some(Finding::warning(NAME, found, hint))
        }
    }
}

fn of_team(store: &RootStore, team: &TeamName) -> Option<Finding> {
    let hub = match store.hub_of(team) {
        Ok(hub) => hub?,
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            return Some(Finding::missing(NAME, error.to_string(), hint));
        }
    };
    Some(match store.hub_report(team, hub.clone()).block_on() {
        Ok(report) => judged(team, &hub, &report),
        Err(error) => {
            // The hint of these is this command.
            let hint = match &error {
                StoreError::HubUnreachable { .. } | StoreError::HubRefused { .. } => {
                    "check that it runs, its address and its credentials".to_owned()
                }
                error => error.hint().unwrap_or_default(),
            };
            Finding::missing(NAME, format!("team {team}: {error}"), hint)
        }
    })
}

fn judged(team: &TeamName, hub: &HubSettings, report: &HubReport) -> Finding {
    let used = report.used >> 20;
    let storage = match report.limit {
        Some(limit) => format!("{used} of {} MiB used", limit >> 20),
        None => format!("{used} MiB used"),
    };
    let ahead = report.clock_ahead_ms;
    let found = format!(
        "team {team}: {}, nats-server {}, {storage}, its clock differs by {} ms",
        hub.url,
        report.version,
        ahead.abs()
    );
    let mut parts = report
        .version
        .split('.')
        .map(|part| part.parse().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if version < OLDEST {
        return Finding::warning(NAME, found, "install nats-server 2.9 or newer");
    }
    if report
        .limit
        .is_some_and(|limit| report.used > limit / 10 * 9)
    {
        return Finding::warning(
            NAME,
            found,
            "delete old teams, or raise the limit of the hub",
        );
    }
    if ahead.abs() > CLOCKS {
        let hint =
            "synchronize the clocks: times in journals and messages are those of each machine";
        return Finding::warning(NAME, found, hint);
    }
    Finding::ok(NAME, found)
}
