//! `swarm demo`.

use std::path::PathBuf;

use clap::Args;

/// The demonstration.
#[derive(Debug, Args)]
#[command(after_help = "\
A repository whose test fails is mended by a team whose model is played from a file. Your own teams are not touched.

Examples:
  swarm demo
  swarm demo --no-attach --pace 0 --picture demo.svg")]
pub(crate) struct DemoArgs {
    /// Print an account instead of showing the panes, even in a terminal.
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Keep the folder in which it was played.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Draw the panes into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// Speed of the play: 1 for people who watch, 0 as fast as it goes.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) pace: Option<f64>,
}
