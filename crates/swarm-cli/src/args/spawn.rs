//! `swarm spawn`.

use std::path::PathBuf;

use clap::Args;
use swarm_protocol::PermissionMode;

/// A teammate to be started.
#[derive(Debug, Args)]
pub(crate) struct SpawnArgs {
    /// Its name.
    pub(crate) name: String,
    /// Type of its definition.
    #[arg(long, value_name = "TYPE")]
    pub(crate) agent: Option<String>,
    /// Its first message.
    #[arg(long, conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// File with its first message, or - for standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Its model: provider/model, an alias, or a model id.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Its permission mode: default, acceptEdits, plan, dontAsk or bypassPermissions.
    #[arg(long)]
    pub(crate) mode: Option<PermissionMode>,
    /// Its working folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Where it runs: auto, tmux or headless.
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// A further variable for its shell commands.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// End a live member of this name first.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Begin a new conversation instead of carrying on that of an earlier member of this name.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Seconds that it may take to be ready.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}
