//! Checks of the hubs of this machine's teams.

use std::collections::BTreeSet;
use std::path::Path;

use swarm_config::{Environment, Settings};
use swarm_protocol::{TeamName, with_causes};
use swarm_store::{
    BlockOn as _, HubReport, HubSettings, NodeView, RootStore, StoreError, TeamStore as _,
};
use swarm_supervisor::NodeState;

use super::finding::Finding;
use crate::app::store_at;
use crate::commands::hub::hub_of_settings;
use crate::concurrently::run_all;
use crate::hub_credentials::{credentials_files, exposure};
use crate::unreachable_hubs::by_reason;

const NAME: &str = "hub";

/// Difference of clocks beyond which times of several machines are hard to compare.
const CLOCKS: i64 = 2000;

/// Oldest version with what teams need.
const OLDEST: (u64, u64) = (2, 9);

/// Checks the hubs, all at the same time. Returns also the teams whose hub cannot be used.
pub(super) fn check(
    env: &Environment,
    settings: &Settings,
    root: &Path,
) -> (Vec<Finding>, Vec<TeamName>) {
    let store = store_at(root);
    let teams = store.teams().block_on().unwrap_or_default();
    let (mut findings, mut on_hubs) = (Vec::new(), Vec::new());
    for team in teams {
        match store.hub_of(&team) {
            Ok(Some(hub)) => on_hubs.push((team, hub)),
            Ok(None) => {}
            Err(error) => {
                let hint = error.hint().unwrap_or_default();
                findings.push(Finding::missing(NAME, error.to_string(), hint));
            }
        }
    }
    match hub_of_settings(env, settings) {
        Some(Ok(hub)) if on_hubs.iter().all(|(_, known)| known.url != hub.url) => {
            on_hubs.push((TeamName::nodes(), hub));
        }
        Some(Err(failure)) => {
            let hint = failure.hint.unwrap_or_default();
            findings.push(Finding::missing(NAME, failure.message, hint));
        }
        _ => {}
    }
    let reports = run_all(&on_hubs, |(team, hub)| {
        store.hub_report(team, hub.clone()).block_on()
    });
    let (mut failed, mut usable) = (Vec::new(), BTreeSet::new());
    for ((team, hub), report) in on_hubs.into_iter().zip(reports) {
        match report {
            Ok(report) => {
                findings.push(judged(&team, &hub, &report));
                usable.insert(hub);
            }
            Err(error) if team == TeamName::nodes() => {
                let found = format!("setting `hub.url`: {}", with_causes(&error));
                findings.push(unusable(found, &error));
            }
            Err(error) => failed.push((team, error)),
        }
    }
    let left_out = by_reason(failed);
    findings.extend(
        left_out
            .iter()
            .map(|left_out| unusable(left_out.text(), &left_out.error)),
    );
    let exposed = credentials_files(env, settings, root);
    let exposed = exposed.iter().filter_map(|file| exposure(file));
    findings.extend(exposed.map(|(what, how)| Finding::warning(NAME, what, how)));
    let usable: Vec<HubSettings> = usable.into_iter().collect();
    let nodes = run_all(&usable, |hub| of_nodes(&store, hub));
    for finding in nodes.into_iter().flatten() {
        // A hub is known once for each credentials file of its teams.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let unusable = left_out.into_iter().flat_map(|one| one.teams);
    (findings, unusable.collect())
}

fn unusable(found: String, error: &StoreError) -> Finding {
    // The hint of these is this command.
    let hint = match error {
        StoreError::HubUnreachable { .. }
        | StoreError::HubRefused { .. }
        | StoreError::HubLost(_)
        | StoreError::HubSilent(_) => {
            "check that it runs, its address and its credentials".to_owned()
        }
        error => error.hint().unwrap_or_default(),
    };
    // The credentials may be those of some teams.
    match error {
        StoreError::HubForbidden { team, .. } if *team == TeamName::nodes() => {
            Finding::warning(NAME, found, hint)
        }
        _ => Finding::missing(NAME, found, hint),
    }
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

fn judged(team: &TeamName, hub: &HubSettings, report: &HubReport) -> Finding {
    let used = report.used >> 20;
    let storage = match report.limit {
        Some(limit) => format!("{used} of {} MiB used", limit >> 20),
        None => format!("{used} MiB used"),
    };
    let used_by = if *team == TeamName::nodes() {
        "setting `hub.url`".to_owned()
    } else {
        format!("team {team}")
    };
    let ahead = report.clock_ahead_ms.map(i64::abs);
    let clock = ahead.map(|ahead| format!(", its clock differs by {ahead} ms"));
    let found = format!(
        "{used_by}: {}, nats-server {}, {storage}{}",
        hub.url,
        report.version,
        clock.unwrap_or_default()
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
    if ahead.is_some_and(|ahead| ahead > CLOCKS) {
        let hint =
            "synchronize the clocks: times in journals and messages are those of each machine";
        return Finding::warning(NAME, found, hint);
    }
    Finding::ok(NAME, found)
}
