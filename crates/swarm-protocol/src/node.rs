//! Nodes of a hub, and orders for them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentId, BlobRef, MemberName, NodeLabel, OrderId, SpawnId, SshDestination, UnixMs};

/// What a node reports about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// Name of its host.
    pub host: String,
    /// Version of swarm.
    pub version: String,
    /// Most members that run on it at a time.
    pub slots: u32,
    /// Labels by which it can be chosen.
    pub labels: BTreeSet<NodeLabel>,
    /// By how many milliseconds the hub's clock is ahead of its own.
    pub clock_ahead_ms: i64,
    /// When it joined, by its own clock.
    pub since: UnixMs,
    /// Members that run on it.
    pub members: Vec<AgentId>,
    /// How to run its program there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<NodeShell>,
    /// Commits that it has, which are not sent to it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_commits: Vec<String>,
}

/// How a person runs a command in the terminal of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeShell {
    /// Destination for `ssh`, if it can be reached so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<SshDestination>,
    /// Path of the program.
    pub program: PathBuf,
    /// Its config directory.
    pub root: PathBuf,
}

/// A command of swarm that a node carries out for a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Id.
    pub id: OrderId,
    /// The command and its arguments, without the name of the program and the team.
    pub words: Vec<String>,
    /// The member that it spawns. Until it is over, no other order can spawn one of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawns: Option<MemberName>,
    /// It withdraws an order to spawn this member that no node has taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// Standard input of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Repository in which a spawned member works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Repository>,
    /// What has become of it.
    pub state: OrderState,
}

impl Order {
    /// Creates an open order without input and repository.
    pub fn new(words: Vec<String>) -> Self {
        Self {
            id: OrderId::random(),
            words,
            spawns: None,
            replaces: false,
            input: None,
            repository: None,
            state: OrderState::Open,
        }
    }
}

/// A commit of a repository, for a repository of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// Root commit, which identifies the repository.
    pub root: String,
    /// Commit from which the member starts.
    pub base: String,
    /// URL from which the commit can be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Branch that is checked out there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// A git bundle that has the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BlobRef>,
}

/// State of an order. It is taken once: by one process of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OrderState {
    /// No node has taken it.
    Open,
    /// A process of the node carries it out.
    Taken(SpawnId),
    /// The process that carries it out cancels it.
    Withdrawn(SpawnId),
    /// The command has ended.
    Done(OrderOutcome),
}

/// What a command of a node printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderOutcome {
    /// Exit code.
    pub code: u8,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl OrderOutcome {
    /// Returns a field of the error that a command with `--json` printed, such as `message`.
    pub fn error_field(&self, name: &str) -> Option<String> {
        let printed: Value = serde_json::from_str(&self.stderr).ok()?;
        Some(printed["error"][name].as_str()?.to_owned())
    }
}
