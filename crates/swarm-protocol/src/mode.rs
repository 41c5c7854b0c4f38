//! Permission modes, and how a ceiling lowers them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How an agent's tool calls are decided when no rule speaks. Spelled as Claude Code spells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Ask for everything that is not read-only.
    #[default]
    Default,
    /// File edits inside the working directory are allowed; the rest asks.
    AcceptEdits,
    /// Only reading is allowed.
    Plan,
    /// Everything is allowed but explicit denials and protected paths.
    BypassPermissions,
    /// What would ask is refused.
    DontAsk,
}

/// A word is not a permission mode.
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

    /// The spelling on disk and in flags.
    pub fn name(self) -> &'static str {
        match self {
            PermissionMode::Default => "default",
            PermissionMode::AcceptEdits => "acceptEdits",
            PermissionMode::Plan => "plan",
            PermissionMode::BypassPermissions => "bypassPermissions",
            PermissionMode::DontAsk => "dontAsk",
        }
    }

    /// How much the mode grants without asking; a child may not be above its parent.
    fn rank(self) -> u8 {
        match self {
            PermissionMode::Plan => 0,
            PermissionMode::DontAsk => 1,
            PermissionMode::Default => 2,
            PermissionMode::AcceptEdits => 3,
            PermissionMode::BypassPermissions => 4,
        }
    }

    /// Whether an agent of this mode may have a child of mode `child`.
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
