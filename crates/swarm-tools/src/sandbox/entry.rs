//! The helper's side: leaving the terminal, restricting itself and becoming the command.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use landlock::RulesetError;
use rustix::process::setsid;

use super::SandboxLevel;
use super::restrict::restrict;

/// The first argument by which a program knows that it is to be the helper.
pub const HELPER_WORD: &str = "__sandbox";

pub(super) const SANDBOX: &str = "--sandbox";
pub(super) const REQUIRED: &str = "--required";
pub(super) const WRITE: &str = "--write";
pub(super) const COMMAND: &str = "--";

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The arguments are not those that we write.
    #[error("`{HELPER_WORD}` is for swarm's own use and does not take `{}`", .0.to_string_lossy())]
    Arguments(OsString),
    /// This process leads a group, as a job of an interactive shell does.
    #[error("cannot leave the terminal: {0}; the command was not run")]
    Session(rustix::io::Errno),
    /// The kernel has no sandbox and the settings want one.
    #[error(
        "this kernel has no sandbox for shell commands (landlock) and `sandbox.required` is set, so the command was not run"
    )]
    Absent,
    /// A directory was replaced by a link, or is not where it was when it was granted.
    #[error(
        "the sandbox cannot be set up: {} is a symbolic link or leads through one, and none is followed; the command was not run",
        .0.display()
    )]
    Link(PathBuf),
    /// The kernel refused.
    #[error("the sandbox cannot be set up: {0}; the command was not run")]
    Ruleset(#[from] RulesetError),
    /// The command cannot be started.
    #[error("{} cannot be started: {source}", .program.to_string_lossy())]
    Start {
        /// The command's program.
        program: OsString,
        /// Why.
        source: io::Error,
    },
}

/// Begins a session without a terminal, restricts this process if it is told to, and becomes the command:
/// `[--sandbox] [--required] [--write PATH]… -- PROGRAM ARGUMENT…`. Returns only when that fails. To be called before any
/// other thread runs: they would stay as they are.
///
/// # Errors
/// [`SandboxError`]; nothing was run then.
pub fn become_command(arguments: impl IntoIterator<Item = OsString>) -> SandboxError {
    let mut arguments = arguments.into_iter();
    let (mut sandbox, mut required, mut writable) = (false, false, Vec::new());
    loop {
        let Some(word) = arguments.next() else {
            return SandboxError::Arguments(OsString::new());
        };
        if word == OsStr::new(SANDBOX) {
            sandbox = true;
        } else if word == OsStr::new(REQUIRED) {
            required = true;
        } else if word == OsStr::new(WRITE) {
            writable.extend(arguments.next().map(PathBuf::from));
        } else if word == OsStr::new(COMMAND) {
            break;
        } else {
            return SandboxError::Arguments(word);
        }
    }
    let Some(program) = arguments.next() else {
        return SandboxError::Arguments(COMMAND.into());
    };
    // A session has no terminal until its leader opens one, so `/dev/tty` is nobody's.
    if let Err(error) = setsid() {
        return SandboxError::Session(error);
    }
    if sandbox {
        match restrict(&writable) {
            Err(error) => return error,
            Ok(SandboxLevel::Absent) if required => return SandboxError::Absent,
            Ok(_) => {}
        }
    }
    let source = Command::new(&program).args(arguments).exec();
    SandboxError::Start { program, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_we_do_not_write_start_nothing() {
        for words in [
            &[][..],
            &["--wrong"],
            &["--write", "/x"],
            &["--required", "--"],
        ] {
            let error = become_command(words.iter().map(OsString::from));
            assert!(
                matches!(error, SandboxError::Arguments(_)),
                "{words:?}: {error}"
            );
        }
    }
}
