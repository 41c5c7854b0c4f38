//! What surrounds the shell commands of agents; it travels from the settings to every member.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What surrounds the shell commands of agents. The default is nothing at all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShellGuards {
    /// Whose commands run in the kernel's sandbox.
    pub sandbox: SandboxUse,
    /// Whether commands that should run in it are refused where the kernel has none.
    pub required: bool,
    /// A program and its first words that takes rights from itself and then becomes the command. Empty: there is none.
    pub helper: Vec<String>,
    /// A directory that stands first on the search path of commands.
    pub shims: Option<PathBuf>,
    /// Directories that commands in the sandbox may write to besides their own.
    pub write: Vec<PathBuf>,
}

/// Whose commands run in the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxUse {
    /// Those of every agent.
    Always,
    /// Those of agents that have a worktree of their own.
    #[default]
    Worktree,
    /// Nobody's.
    Off,
}

impl SandboxUse {
    /// Every value, from least to most freedom for the agents.
    pub const ALL: [SandboxUse; 3] = [SandboxUse::Always, SandboxUse::Worktree, SandboxUse::Off];

    /// The spelling in settings.
    pub fn name(self) -> &'static str {
        match self {
            SandboxUse::Always => "always",
            SandboxUse::Worktree => "worktree",
            SandboxUse::Off => "off",
        }
    }
}

impl fmt::Display for SandboxUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
