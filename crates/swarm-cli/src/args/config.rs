//! `swarm config …`.

use clap::{Args, Subcommand};

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the settings in force, with the layer that gave each.
    List(ConfigListArgs),
}

/// Settings to be listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm config list                    all settings
  swarm config list --origins          also file and line of each
  swarm config list spawn              those of one table
  swarm config list permissions.mode   a single one")]
pub(crate) struct ConfigListArgs {
    /// A setting or the beginning of several, such as `spawn` or `permissions.mode` [default: all].
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Show where each value stands, and the values that have no effect because of it.
    #[arg(long)]
    pub(crate) origins: bool,
}
