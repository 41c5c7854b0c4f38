//! `swarm run`.

use clap::{Args, ValueEnum};
use swarm_protocol::PermissionMode;

use super::worktree::no_prompt;

/// A headless run.
#[derive(Debug, Args)]
#[command(after_help = "\
The lead makes a team where it needs one. The run ends when the lead has finished and every task is completed or \
failed: with 0 when all went well, 9 when the lead or a task failed, 6 when the timeout passed. Ctrl-C once shuts the \
team down, twice kills it. When the timeout passes or the terminal closes, the members wait for `swarm resume`.

Examples:
  swarm run \"Find out why the import is slow, and prove it.\"
  swarm run - --mode acceptEdits --timeout 1800 < prompt.txt
  swarm run \"Review the last commit\" --output json | jq -r .result")]
pub(crate) struct RunArgs {
    /// What is to be done, or - for standard input.
    pub(crate) prompt: String,
    /// The model, which members inherit: provider/model, an alias, or a model id [default: `model.default` of the settings].
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Definitions for this run: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// The permission mode, which members inherit: plan, dontAsk, default, acceptEdits or bypassPermissions [default: `permissions.mode` of the settings].
    #[arg(long)]
    pub(crate) mode: Option<PermissionMode>,
    /// Work in a git work tree of this name instead of the present folder [default: a name of its own].
    #[arg(long, value_name = "SLUG", num_args = 0..=1, default_missing_value = "", value_parser = no_prompt)]
    pub(crate) worktree: Option<String>,
    /// Take uncommitted changes along into the work tree.
    #[arg(long, requires = "worktree")]
    pub(crate) snapshot: bool,
    /// Where members run: auto, tmux or headless [default: `spawn.backend` of the settings].
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Model requests in one turn, at most [default: `turn.max_requests` of the settings].
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Seconds after which the run ends; its members then wait for `swarm resume` [default: never].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Delete the team at the end; its tasks and journal go to the archive.
    #[arg(long)]
    pub(crate) rm: bool,
    /// MCP servers for this command: a file with `mcpServers`, or the JSON itself; may be given several times.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust the present repository for this command: its hooks, MCP servers and definitions run.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Also write the report into this file.
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) report: Option<std::path::PathBuf>,
}

/// What `run` prints on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The lead's last words.
    Text,
    /// One document at the end.
    Json,
    /// One line for each event, and the document at the end.
    StreamJson,
}
