//! What a lead is doing when it is ended.

use serde_json::json;

use crate::fake_api::{Block, Gate, Reply, Script, Step};

/// What a lead is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// It spawns three members.
    Spawns,
    /// It has spawned a member who asks it for a permission.
    IsAsked,
    /// It spawns a member with a worktree of its own.
    AddsTree,
}

/// What a member writes down once it may; each time it runs is a line.
pub(super) const ALLOWED: &str = "allowed";

/// What a member leaves in its worktree that no commit holds.
pub(super) const PRECIOUS: &str = "precious";

impl Duty {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Spawns, Self::IsAsked, Self::AddsTree];

    /// Whom the lead spawns.
    pub(super) fn members(self) -> &'static [&'static str] {
        match self {
            Self::Spawns => &["ann", "bob", "cid"],
            Self::IsAsked | Self::AddsTree => &["ann"],
        }
    }

    /// What everybody says. The lead begins once `begin` is open and never comes to an end before `end` is.
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
