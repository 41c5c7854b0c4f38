//! `swarm config …`.

use clap::{Args, Subcommand};

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List settings with the layer that set each.
    List(ConfigListArgs),
}

/// Settings to be listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm config list                    all settings
  swarm config list --origins          with file and line
  swarm config list spawn              one table
  swarm config list permissions.mode   one setting")]
pub(crate) struct ConfigListArgs {
    /// Setting or prefix, such as `spawn` or `permissions.mode` [default: all].
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Show the file and line of each value, and the values that it overrides.
    #[arg(long)]
    pub(crate) origins: bool,
}
