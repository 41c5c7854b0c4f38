//! Activities of a lead when it is terminated.

use serde_json::json;

use crate::fake_api::{Block, Gate, Reply, Script, Step};

/// Activity of a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It spawns three members.
    Spawns,
    /// It has spawned a member that requests a permission.
    IsAsked,
    /// It spawns a member with an isolated worktree.
    AddsTree,
}

/// File to which a permitted command of the member appends a line on each run.
pub(super) const ALLOWED: &str = "allowed";

/// Uncommitted file in a member's worktree.
pub(super) const PRECIOUS: &str = "precious";

impl Activity {
    /// All activities.
    pub const ALL: [Self; 3] = [Self::Spawns, Self::IsAsked, Self::AddsTree];

    /// Returns the members that the lead spawns.
    pub(super) fn members(self) -> &'static [&'static str] {
        match self {
            Self::Spawns => &["ann", "bob", "cid"],
            Self::IsAsked | Self::AddsTree => &["ann"],
        }
    }

    /// Returns the script of all agents. The lead starts once `begin` is open and does not finish
    /// before `end` is.
    pub(super) fn script(self, begin: &Gate, end: &Gate) -> Script {
        let calls = self.members().iter().map(|name| {
            let mut input = json!({"name": name, "description": "work", "prompt": "hello"});
            match self {
                Self::Spawns => {}
                Self::IsAsked => input["mode"] = "default".into(),
                Self::AddsTree => input["isolation"] = "worktree".into(),
            }
            Block::tool(*name, "Agent", input)
        });
        let lead = [
            Step::says(Reply::blocks(calls).held_by(begin, 1)),
            Step::says(Reply::text("that is all").held_by(end, 1)),
        ];
        let bash = |command: String| {
            [
                Step::says(Reply::tool("t1", "Bash", json!({ "command": command }))),
                Step::says(Reply::text("done")),
            ]
        };
        let script = Script::new().agent("team-lead", lead);
        match self {
            Self::Spawns => script,
            Self::IsAsked => script.agent("ann", bash(format!("echo once >> {ALLOWED}"))),
            Self::AddsTree => script.agent("bob", bash(format!("echo mine > {PRECIOUS}"))),
        }
    }
}
