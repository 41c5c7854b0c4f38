//! `swarm resume`, `swarm ps`, `swarm reap` and `swarm gc`: after a crash.

use clap::Args;
use swarm_protocol::PermissionMode;

use super::OutputFormat;

/// A team to be taken over.
#[derive(Debug, Args)]
#[command(after_help = "\
Without a prompt, you lead the team from the shell; running members continue. With a prompt, a new lead continues \
the conversation of the lost one, as `swarm run` does.

Examples:
  swarm resume demo                     lead the team from the shell
  swarm resume demo --respawn           and restart dead members
  swarm resume demo \"finish the work\"   continue with a new lead")]
pub(crate) struct ResumeArgs {
    /// Team that lost its lead.
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: String,
    /// Prompt for the new lead, or - for standard input [default: no lead].
    pub(crate) prompt: Option<String>,
    /// Restart dead members with their tasks.
    #[arg(long)]
    pub(crate) respawn: bool,
    /// Model of the lead [default: its previous model].
    #[arg(long, requires = "prompt")]
    pub(crate) model: Option<String>,
    /// Permission mode of the lead: plan, dontAsk, default, acceptEdits or bypassPermissions [default: setting `permissions.mode`].
    #[arg(long, requires = "prompt")]
    pub(crate) mode: Option<PermissionMode>,
    /// Backend for started members: auto, tmux or headless [default: setting `spawn.backend`].
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// MCP servers for this command, as a file with `mcpServers` or as JSON; repeatable.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust this repository's hooks, MCP servers and definitions for this command.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Output format.
    #[arg(long, requires = "prompt", value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Maximum model requests per turn [default: setting `turn.max_requests`].
    #[arg(long, requires = "prompt", value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Stop the run gracefully after this many seconds [default: never].
    #[arg(long, requires = "prompt", value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Delete the team at the end and archive its tasks and journal.
    #[arg(long, requires = "prompt")]
    pub(crate) rm: bool,
}

/// Strays to be ended.
#[derive(Debug, Args)]
#[command(after_help = "\
A process is orphaned when its team is gone or no longer lists it. `swarm ps` lists orphaned processes.

Examples:
  swarm reap --dry-run       show what would be terminated
  swarm reap                 terminate all orphaned processes
  swarm reap --parked demo   terminate the members of demo, which lost its lead")]
pub(crate) struct ReapArgs {
    /// Only processes of these teams or members (TEAM, NAME or NAME@TEAM) [default: all].
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Show what would be terminated, without doing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also terminate members of teams that lost their lead.
    #[arg(long)]
    pub(crate) parked: bool,
}

/// Leftovers to be cleared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm gc --dry-run      show what would be removed
  swarm gc                remove it
  swarm gc --unfinished   also archive teams that could still be resumed")]
pub(crate) struct GcArgs {
    /// Show what would be removed, without doing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also archive teams with open tasks or unread messages.
    #[arg(long)]
    pub(crate) unfinished: bool,
}
