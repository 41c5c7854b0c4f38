//! `swarm spawn`.

use std::path::PathBuf;

use clap::Args;
use swarm_protocol::PermissionMode;

/// A teammate to be started.
#[derive(Debug, Args)]
#[command(after_help = "\
Returns when the teammate is ready and runs with what was asked for, or fails and prints its last lines.

Examples:
  swarm spawn alice --prompt \"Explain how leap years are handled\" --mode plan
  swarm spawn bob --model haiku --cwd ../docs --env RUST_LOG=debug
  swarm spawn carol --worktree --prompt \"Mend the import\"
  swarm spawn alice     bring her back after she died, with her conversation")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is typed"
)]
pub(crate) struct SpawnArgs {
    /// Its name: letters, digits, `_` and `-`, beginning with a letter or digit.
    pub(crate) name: String,
    /// The type of its definition.
    #[arg(long, value_name = "TYPE")]
    pub(crate) agent: Option<String>,
    /// Definitions for this spawn: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Its first message [default: none; it waits for mail].
    #[arg(long, conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// The file with its first message, or - for standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Its model: provider/model, an alias, or a model id [default: the one it had, else `model.default` of the settings].
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Its permission mode: plan, dontAsk, default, acceptEdits or bypassPermissions [default: the one it had, else `permissions.mode` of the settings].
    #[arg(long)]
    pub(crate) mode: Option<PermissionMode>,
    /// Its working folder [default: the one it had, else the present one].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Give it a git work tree of its own, by this name [default: its own name].
    #[arg(long, value_name = "SLUG", num_args = 0..=1, default_missing_value = "", require_equals = false)]
    pub(crate) worktree: Option<String>,
    /// Take uncommitted changes along into the work tree.
    #[arg(long, requires = "worktree")]
    pub(crate) snapshot: bool,
    /// Where it runs: auto, tmux or headless [default: `spawn.backend` of the settings].
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// A further variable for its shell commands; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// End a live member of this name first.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Begin a new conversation instead of carrying on the one it had.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// MCP servers for this command: a file with `mcpServers`, or the JSON itself; may be given several times.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust the present repository for this command: its hooks, MCP servers and definitions run.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Seconds that it may take to be ready [default: `spawn.hello_timeout_s` of the settings].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}
