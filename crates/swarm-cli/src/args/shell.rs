//! `swarm completions` and `swarm man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// A shell to be taught.
#[derive(Debug, Args)]
#[command(after_help = "\
Completes names of teams, members, tasks, requests and settings.

Examples:
  source <(swarm completions bash)           in ~/.bashrc
  source <(swarm completions zsh)            in ~/.zshrc, after compinit
  swarm completions fish | source            in ~/.config/fish/config.fish
  eval (swarm completions elvish | slurp)    in ~/.config/elvish/rc.elv
  swarm completions powershell | Out-String | Invoke-Expression    in $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// Shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Shells that can be taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash.
    Bash,
    /// Elvish.
    Elvish,
    /// fish.
    Fish,
    /// PowerShell.
    Powershell,
    /// The Z shell.
    Zsh,
}

/// A page to be printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm man | man -l -                              read swarm's page
  swarm man task create | man -l -                  read a command's page
  swarm man --dir ~/.local/share/man/man1           install all pages")]
pub(crate) struct ManArgs {
    /// Command, such as `task create` [default: `swarm`].
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write all pages to this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}
