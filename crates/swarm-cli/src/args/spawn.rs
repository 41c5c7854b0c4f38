//! `swarm spawn`.

use std::path::PathBuf;

use clap::Args;
use swarm_protocol::PermissionMode;

/// A teammate to be started.
#[derive(Debug, Args)]
#[command(after_help = "\
Waits until the teammate is ready with the requested model, mode and directory; on failure, prints its last output.

Examples:
  swarm spawn alice --prompt \"Explain how leap years are handled\" --mode plan
  swarm spawn bob --model haiku --cwd ../docs --env RUST_LOG=debug
  swarm spawn carol --worktree --prompt \"Fix the import\"
  swarm spawn alice     restart her with her conversation")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is typed"
)]
pub(crate) struct SpawnArgs {
    /// Name: letters, digits, `_` and `-`, starting with a letter or digit.
    pub(crate) name: String,
    /// Agent type.
    #[arg(long, value_name = "TYPE")]
    pub(crate) agent: Option<String>,
    /// Agent definitions for this spawn: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Initial prompt [default: none].
    #[arg(long, conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// File with the initial prompt, or - for standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Model: PROVIDER/MODEL, an alias, or a model ID [default: its previous model, else setting `model.default`].
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Permission mode: plan, dontAsk, default, acceptEdits or bypassPermissions [default: its previous mode, else setting `permissions.mode`].
    #[arg(long)]
    pub(crate) mode: Option<PermissionMode>,
    /// Working directory [default: its previous one, else the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Work in a separate git worktree with this name [default: the member's name].
    #[arg(long, value_name = "SLUG", num_args = 0..=1, default_missing_value = "", require_equals = false)]
    pub(crate) worktree: Option<String>,
    /// Copy uncommitted changes into the worktree.
    #[arg(long, requires = "worktree")]
    pub(crate) snapshot: bool,
    /// Backend: auto, tmux or headless [default: setting `spawn.backend`].
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// Environment variable for its shell commands; repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Replace a running member with this name.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Start a new conversation instead of continuing the previous one.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// MCP servers for this command, as a file with `mcpServers` or as JSON; repeatable.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust this repository's hooks, MCP servers and definitions for this command.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Startup timeout in seconds [default: setting `spawn.hello_timeout_s`].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}
