//! `swarm instructions`.

use std::path::PathBuf;

use clap::Args;

/// Whose instructions to list.
#[derive(Debug, Args)]
#[command(after_help = "\
Agents read instruction files like Claude Code: the managed policy, CLAUDE.md of the config directory, then CLAUDE.md \
(or AGENTS.md), .claude/CLAUDE.md, .claude/rules and CLAUDE.local.md of each directory down to the working directory.

Examples:
  swarm instructions
  swarm instructions --agent Explore
  swarm instructions --cwd packages/api --json | jq -r '.files[].path'")]
pub(crate) struct InstructionsArgs {
    /// List what agents of this type read.
    #[arg(long, value_name = "TYPE")]
    pub(crate) agent: Option<String>,
    /// List what agents in this directory read [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}
