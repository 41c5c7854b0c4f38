//! Teams whose hub cannot be used, found before a command asks one team after the other.

use std::time::Duration;

use swarm_protocol::{TeamName, with_causes, with_commas};
use swarm_store::{BlockOn as _, StoreError, TeamStore};

use crate::concurrently::run_all;

/// Longest wait for the hubs of all teams together.
const PATIENCE: Duration = Duration::from_secs(5);

/// Teams that cannot be used for the same reason.
#[derive(Debug)]
pub(crate) struct LeftOut {
    pub(crate) teams: Vec<TeamName>,
    pub(crate) error: StoreError,
}

impl LeftOut {
    /// Names the teams and the reason, which may name the team itself.
    pub(crate) fn text(&self) -> String {
        let (names, reason) = (self.names(), with_causes(&self.error));
        if reason.contains(&names) {
            return reason;
        }
        format!("{names}: {reason}")
    }

    /// Names the teams.
    fn names(&self) -> String {
        let noun = match self.teams[..] {
            [_] => "team",
            _ => "teams",
        };
        let teams = self.teams.iter().map(|team| format!("`{team}`"));
        format!("{noun} {}", with_commas(teams))
    }
}

/// Returns those of some teams whose hub cannot be used. All are asked at the same time.
pub(crate) fn unreachable(
    store: &dyn TeamStore,
    teams: &[TeamName],
) -> Vec<(TeamName, StoreError)> {
    unreachable_within(store, teams, PATIENCE)
}

fn unreachable_within(
    store: &dyn TeamStore,
    teams: &[TeamName],
    at_most: Duration,
) -> Vec<(TeamName, StoreError)> {
    let handles = teams.iter().map(|name| (name, store.team(name)));
    let on_hubs: Vec<_> = handles.filter(|(_, team)| team.is_remote()).collect();
    let errors = run_all(&on_hubs, |(_, team)| {
        let config = team.with_lock_timeout(at_most).config().block_on();
        config.err().filter(StoreError::is_of_hub)
    });
    let failed = on_hubs.into_iter().zip(errors);
    failed
        .filter_map(|((name, _), error)| Some((name.clone(), error?)))
        .collect()
}

/// Removes the teams whose hub cannot be used from a list, and returns them.
pub(crate) fn take_unreachable(store: &dyn TeamStore, teams: &mut Vec<TeamName>) -> Vec<LeftOut> {
    let failed = unreachable(store, teams);
    teams.retain(|team| failed.iter().all(|(name, _)| name != team));
    by_reason(failed)
}

/// Puts the teams together that cannot be used for the same reason. A hub that cannot be reached is
/// the same reason, however each connection to it failed.
pub(crate) fn by_reason(failed: Vec<(TeamName, StoreError)>) -> Vec<LeftOut> {
    let reason = |error: &StoreError| match error {
        StoreError::HubUnreachable { hub, .. }
        | StoreError::HubLost(hub)
        | StoreError::HubSilent(hub) => hub.clone(),
        error => with_causes(error),
    };
    let mut all: Vec<LeftOut> = Vec::new();
    for (team, error) in failed {
        let why = reason(&error);
        match all.iter_mut().find(|known| reason(&known.error) == why) {
            Some(known) => known.teams.push(team),
            None => all.push(LeftOut {
                teams: vec![team],
                error,
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::Path;

    use super::*;
    use crate::app::store_at;

    fn join(root: &Path, team: &str, url: &str) -> TeamName {
        let own = root.join("teams").join(team).join("swarm");
        std::fs::create_dir_all(&own).unwrap();
        let hub = serde_json::json!({ "url": url }).to_string();
        swarm_os::replace_alone(&own.join("hub.json"), hub.as_bytes()).unwrap();
        TeamName::parse(team).unwrap()
    }

    #[test]
    fn a_hub_that_does_not_answer_is_named_once_with_its_teams() {
        let scratch = tempfile::tempdir().unwrap();
        let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("nats://{}", silent.local_addr().unwrap());
        let teams = ["one", "three", "two"].map(|team| join(scratch.path(), team, &url));
        let store = store_at(scratch.path());
        let failed = unreachable_within(&store, &teams, Duration::from_millis(300));
        let left_out = by_reason(failed);
        let [hub] = &left_out[..] else {
            panic!("{left_out:?}");
        };
        assert_eq!(hub.teams, teams);
        let text = hub.text();
        assert!(
            text.starts_with("teams `one`, `three`, `two`: hub nats://127.0.0.1:"),
            "{text}"
        );
    }

    #[test]
    fn teams_with_different_reasons_are_told_apart() {
        let hub = || "nats://hub:4222".to_owned();
        let [a, b, c] = ["a", "b", "c"].map(|name| TeamName::parse(name).unwrap());
        let unreachable = StoreError::HubUnreachable {
            hub: hub(),
            reason: "timed out".to_owned(),
        };
        let absent = StoreError::NotOnHub {
            team: b.clone(),
            hub: hub(),
        };
        let silent = StoreError::HubSilent(hub());
        let texts: Vec<String> = by_reason(vec![(a, unreachable), (b, absent), (c, silent)])
            .iter()
            .map(LeftOut::text)
            .collect();
        assert_eq!(
            texts,
            [
                "teams `a`, `c`: hub nats://hub:4222 cannot be reached: timed out",
                "team `b` is not on hub nats://hub:4222"
            ]
        );
    }
}
