//! Teams without processes: files and the store alone.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};
use swarm_protocol::{MemberName, SystemClock, TeamName};
use swarm_store::{Actor, BlockOn as _, FileStore, NewTeam, StoreLimits, TeamStore as _};

use crate::stage::Team;

/// A store below `root` that accepts more messages than are read.
pub(crate) fn store(root: &Path) -> FileStore {
    FileStore::new(root.to_owned(), Arc::new(SystemClock)).with_limits(StoreLimits {
        max_unread: 1_000_000,
        ..StoreLimits::default()
    })
}

/// Parses a name.
///
/// # Panics
/// If it is invalid.
pub(crate) fn team_name(name: &str) -> TeamName {
    TeamName::parse(name).expect("a name of a team")
}

/// Parses a name.
///
/// # Panics
/// If it is invalid.
pub(crate) fn member_name(name: &str) -> MemberName {
    MemberName::parse(name).expect("a name of a member")
}

/// The spawn of every member.
const SPAWN: &str = "11111111-1111-4111-8111-111111111111";

/// Returns a member as an actor on tasks.
///
/// # Panics
/// If its name is invalid.
pub(crate) fn actor(team: &TeamName, name: &str) -> Actor {
    let spawn = SPAWN.parse().expect("the id of a spawn");
    Actor::member(team, member_name(name), Some(spawn))
}

/// Creates a team whose members have no process.
pub(crate) fn create(root: &Path, name: &str, members: &[&str]) -> Result<TeamName> {
    let (store, team) = (store(root), team_name(name));
    store
        .create_team(NewTeam::new(team.clone(), root, "bench"))
        .block_on()?;
    let path = Team::new(root, name).directory().join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let entries = members.iter().map(|member| {
        json!({
            "agentId": format!("{member}@{name}"), "name": member, "color": "blue", "joinedAt": 1_795_195_646_590_u64,
            "tmuxPaneId": "", "subscriptions": [], "cwd": "/", "backendType": "headless", "isActive": true,
            "swarm": {"spawnId": SPAWN},
        })
    });
    if let Some(list) = config["members"].as_array_mut() {
        list.extend(entries);
    }
    fs::write(&path, config.to_string())?;
    Ok(team)
}
