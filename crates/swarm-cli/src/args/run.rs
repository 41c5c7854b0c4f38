//! `swarm run`.

use clap::{Args, ValueEnum};
use swarm_protocol::PermissionMode;

use super::worktree::no_prompt;

/// A headless run.
#[derive(Debug, Args)]
#[command(after_help = "\
The lead creates a team when it needs one. The run ends when the lead has finished and every task is completed or \
failed. Exit codes: 0 on success, 9 if the lead or a task failed, 6 on timeout. Press Ctrl-C once to shut the team \
down, twice to kill it. After a timeout or a closed terminal, members wait for `swarm resume`.

Examples:
  swarm run \"Find out why the import is slow, and prove it.\"
  swarm run - --mode acceptEdits --timeout 1800 < prompt.txt
  swarm run \"Review the last commit\" --output json | jq -r .result")]
pub(crate) struct RunArgs {
    /// Prompt for the lead, or - for standard input.
    pub(crate) prompt: String,
    /// Model, inherited by members: PROVIDER/MODEL, an alias, or a model ID [default: setting `model.default`].
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Agent definitions for this run: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Permission mode, inherited by members: plan, dontAsk, default, acceptEdits or bypassPermissions [default: setting `permissions.mode`].
    #[arg(long)]
    pub(crate) mode: Option<PermissionMode>,
    /// Work in a git worktree with this name instead of the current directory [default: a generated name].
    #[arg(long, value_name = "SLUG", num_args = 0..=1, default_missing_value = "", value_parser = no_prompt)]
    pub(crate) worktree: Option<String>,
    /// Copy uncommitted changes into the worktree.
    #[arg(long, requires = "worktree")]
    pub(crate) snapshot: bool,
    /// Backend for members: auto, tmux or headless [default: setting `spawn.backend`].
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Maximum model requests per turn [default: setting `turn.max_requests`].
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Stop the run after this many seconds; members then wait for `swarm resume` [default: never].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Delete the team at the end and archive its tasks and journal.
    #[arg(long)]
    pub(crate) rm: bool,
    /// MCP servers for this command, as a file with `mcpServers` or as JSON; repeatable.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust this repository's hooks, MCP servers and definitions for this command.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Also write the report to this file.
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) report: Option<std::path::PathBuf>,
}

/// What `run` prints on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The lead's final report.
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON line per event, then the document.
    StreamJson,
}
