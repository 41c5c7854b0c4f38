//! `swarm resume`, `swarm ps`, `swarm reap` and `swarm gc`: after a crash.

use clap::Args;
use swarm_protocol::PermissionMode;

use super::OutputFormat;

/// A team to be taken over.
#[derive(Debug, Args)]
#[command(after_help = "\
By hand, every member that lives goes on, and what there is to do is listed. With a prompt, a new lead carries on \
the conversation of the old one, as `swarm run` would.

Examples:
  swarm resume demo                     by hand: you lead it from here on
  swarm resume demo --respawn           and those that died come back
  swarm resume demo \"finish the work\"   a lead carries on the old one's work")]
pub(crate) struct ResumeArgs {
    /// The team whose lead was lost.
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: String,
    /// What the lead is told, or - for standard input; without it you take the team over by hand.
    pub(crate) prompt: Option<String>,
    /// Start every dead member again, each with the tasks that it had.
    #[arg(long)]
    pub(crate) respawn: bool,
    /// The lead's model [default: the one it had].
    #[arg(long, requires = "prompt")]
    pub(crate) model: Option<String>,
    /// The lead's permission mode: plan, dontAsk, default, acceptEdits or bypassPermissions [default: `permissions.mode` of the settings].
    #[arg(long, requires = "prompt")]
    pub(crate) mode: Option<PermissionMode>,
    /// Where members that are started run: auto, tmux or headless [default: `spawn.backend` of the settings].
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// MCP servers for this command: a file with `mcpServers`, or the JSON itself; may be given several times.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust the present repository for this command: its hooks, MCP servers and definitions run.
    #[arg(long)]
    pub(crate) trust: bool,
    /// What is printed on stdout.
    #[arg(long, requires = "prompt", value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Model requests in one turn, at most [default: `turn.max_requests` of the settings].
    #[arg(long, requires = "prompt", value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Seconds after which the run is ended in order [default: never].
    #[arg(long, requires = "prompt", value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Delete the team at the end; its tasks and journal go to the archive.
    #[arg(long, requires = "prompt")]
    pub(crate) rm: bool,
}

/// Strays to be ended.
#[derive(Debug, Args)]
#[command(after_help = "\
A stray is a process whose team is gone, or that has no place in it any more. `swarm ps` lists them.

Examples:
  swarm reap --dry-run       what would be ended
  swarm reap                 end the strays of all teams
  swarm reap --parked demo   end the members of demo, whose lead is lost")]
pub(crate) struct ReapArgs {
    /// Only strays of these teams or members, each as TEAM, NAME or NAME@TEAM [default: all].
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Only say what would be ended.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also end members whose lead was lost, though they have their place.
    #[arg(long)]
    pub(crate) parked: bool,
}

/// Leftovers to be cleared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm gc --dry-run      what would be cleared away
  swarm gc                clear it away
  swarm gc --unfinished   also teams that could still be resumed")]
pub(crate) struct GcArgs {
    /// Only say what would be cleared.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also archive teams with open tasks or unread mail, which could still be resumed.
    #[arg(long)]
    pub(crate) unfinished: bool,
}
