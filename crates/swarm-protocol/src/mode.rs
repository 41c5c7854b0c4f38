//! Permission modes and their order, and the tool categories to which they apply.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{InvalidText, named_enum};

named_enum! {
    /// Decides tool calls that no rule covers. Spelled as in Claude Code.
    #[derive(Default)]
    pub enum PermissionMode {
        /// Ask for everything that is not read-only.
        #[default]
        Default = "default",
        /// Allow file edits inside the working directory; ask for the rest.
        AcceptEdits = "acceptEdits",
        /// Allow read-only calls only.
        Plan = "plan",
        /// Allow everything except explicit deny rules and protected paths.
        BypassPermissions = "bypassPermissions",
        /// Deny every call that would require approval.
        DontAsk = "dontAsk",
    }
}

impl PermissionMode {
    /// Rank of the mode by how much it allows without asking; a child may not exceed its parent.
    fn rank(self) -> u8 {
        match self {
            PermissionMode::Plan => 0,
            PermissionMode::DontAsk => 1,
            PermissionMode::Default => 2,
            PermissionMode::AcceptEdits => 3,
            PermissionMode::BypassPermissions => 4,
        }
    }

    /// Returns whether an agent in this mode may have a child in mode `child`.
    pub fn covers(self, child: PermissionMode) -> bool {
        child.rank() <= self.rank()
    }
}

impl FromStr for PermissionMode {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let expected =
            "a permission mode: use default, acceptEdits, plan, dontAsk or bypassPermissions";
        Self::named(text).ok_or_else(|| InvalidText::new(text, expected))
    }
}

/// Category of a tool; permission modes apply to categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Runs a program.
    Execute,
    /// Messages, tasks and members: acts through the store, which has its own checks.
    Team,
    /// The agent's internal state: its to-do list, plan mode and notifications. No other effects.
    Own,
    /// Asks a person; each call waits for the answer.
    Person,
    /// Fetches from the network: changes nothing locally, but discloses the request to the server.
    Web,
    /// Any other effect.
    Other,
}

#[cfg(test)]
mod tests {
    use super::PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};

    #[test]
    fn a_mode_covers_itself_and_those_that_allow_less() {
        let ascending = [Plan, DontAsk, Default, AcceptEdits, BypassPermissions];
        for (at, mode) in ascending.into_iter().enumerate() {
            for (below, child) in ascending.into_iter().enumerate() {
                assert_eq!(mode.covers(child), below <= at, "{mode} {child}");
            }
        }
    }
}
