//! `swarm run`.

use clap::{Args, ValueEnum};
use swarm_protocol::PermissionMode;

/// A headless run.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What is to be done, or - for standard input.
    pub(crate) prompt: String,
    /// The model: provider/model, an alias, or a model id. Members inherit it.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The permission mode: default, acceptEdits, plan, dontAsk or bypassPermissions. Members inherit it.
    #[arg(long)]
    pub(crate) mode: Option<PermissionMode>,
    /// Where members run: auto, tmux or headless.
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Model requests in one turn.
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Seconds after which the run is ended in order.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Remove the team at the end.
    #[arg(long)]
    pub(crate) rm: bool,
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
