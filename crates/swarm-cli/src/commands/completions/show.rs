//! The completion script for a shell.

use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use swarm_config::Environment;

use super::attach::VARIABLE;
use crate::failure::Result;
use crate::output::Output;

#[derive(Debug, clap::Args)]
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

/// Supported shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
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

/// Prints the script. It calls the program for each completion, so an upgrade does not require a
/// new script.
pub(in crate::commands) fn run(
    env: &Environment,
    out: Output,
    args: &CompletionsArgs,
) -> Result<()> {
    let shell: &dyn EnvCompleter = match args.shell {
        Shell::Bash => &Bash,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::Powershell => &Powershell,
        Shell::Zsh => &Zsh,
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "swarm", "swarm", &program(env)?, &mut script)?;
    // Some scripts begin with an empty line.
    out.piece(String::from_utf8_lossy(&script).trim_start())
}

/// Returns how the shell calls this program: by name if that resolves to it, so that an upgrade is
/// used.
fn program(env: &Environment) -> Result<String> {
    let own = std::env::current_exe()?;
    let found = env
        .find_program("swarm")
        .and_then(|path| path.canonicalize().ok());
    if found.is_some() && found == own.canonicalize().ok() {
        return Ok("swarm".to_owned());
    }
    Ok(own.display().to_string())
}
