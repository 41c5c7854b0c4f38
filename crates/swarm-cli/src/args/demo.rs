//! `swarm demo`.

use std::path::PathBuf;

use clap::Args;

/// The demonstration.
#[derive(Debug, Args)]
#[command(after_help = "\
A team with a scripted model fixes a repository with a failing test. Your own teams are not affected.

Examples:
  swarm demo
  swarm demo --no-attach --pace 0 --picture demo.svg")]
pub(crate) struct DemoArgs {
    /// Print a summary instead of showing the panes, even in a terminal.
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Keep the temporary directory.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Save a picture of the panes as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// Playback speed: 1 for watching, 0 for as fast as possible.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) pace: Option<f64>,
}
