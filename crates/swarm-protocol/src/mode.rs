//! Permission modes and their order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Decides tool calls that no rule covers. Spelled as in Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Ask for everything that is not read-only.
    #[default]
    Default,
    /// Allow file edits inside the working directory; ask for the rest.
    AcceptEdits,
    /// Allow read-only calls only.
    Plan,
    /// Allow everything except explicit deny rules and protected paths.
    BypassPermissions,
    /// Deny every call that would require approval.
    DontAsk,
}

/// A word that is not a permission mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a permission mode: use default, acceptEdits, plan, dontAsk or bypassPermissions",
    .0.escape_debug()
)]
pub struct UnknownMode(pub String);

impl PermissionMode {
    /// Every mode.
    pub const ALL: [PermissionMode; 5] = [
        PermissionMode::Default,
        PermissionMode::AcceptEdits,
        PermissionMode::Plan,
        PermissionMode::BypassPermissions,
        PermissionMode::DontAsk,
    ];

    /// Returns the spelling used on disk and in options.
    pub fn name(self) -> &'static str {
        match self {
            PermissionMode::Default => "default",
            PermissionMode::AcceptEdits => "acceptEdits",
            PermissionMode::Plan => "plan",
            PermissionMode::BypassPermissions => "bypassPermissions",
            PermissionMode::DontAsk => "dontAsk",
        }
    }

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

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PermissionMode {
    type Err = UnknownMode;
    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| UnknownMode(text.to_owned()))
    }
}
