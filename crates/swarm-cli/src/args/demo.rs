//! `swarm demo`.

use std::path::PathBuf;

use clap::Args;

/// The demonstration.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Do not show the panes live even if there is a terminal; print an account and a picture instead.
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Keep the throw-away folder.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Also draw the panes into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// Speed of the play: 1 for people who watch, 0 as fast as it goes.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) pace: Option<f64>,
}
