//! Programs that take the terminal over, such as tmux.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use swarm_protocol::ErrorKind;

use crate::failure::{Failure, Result};

/// Replaces this process, so that the program owns the terminal.
pub(super) fn become_command(words: &[OsString]) -> Result<()> {
    let [program, args @ ..] = words else {
        return Err(Failure::new(ErrorKind::Internal, "the command is empty"));
    };
    let error = Command::new(program).args(args).exec();
    let message = format!("{} could not be run: {error}", program.to_string_lossy());
    Err(Failure::environment(message))
}
