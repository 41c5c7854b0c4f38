//! The sandbox helper: leaves the terminal, restricts itself and executes the command.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use landlock::RulesetError;
use rustix::process::setsid;

use super::SandboxLevel;
use super::restrict::restrict;

/// First argument that makes the program act as the helper.
pub const HELPER_WORD: &str = "__sandbox";

pub(super) const SANDBOX: &str = "--sandbox";
pub(super) const REQUIRED: &str = "--required";
pub(super) const WRITE: &str = "--write";
pub(super) const COMMAND: &str = "--";

/// Reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The arguments are invalid.
    #[error("`{HELPER_WORD}` is for internal use and does not accept `{}`", .0.to_string_lossy())]
    Arguments(OsString),
    /// This process leads a process group, as a job of an interactive shell does.
    #[error("cannot leave the terminal: {0}; the command was not run")]
    Session(rustix::io::Errno),
    /// The kernel has no sandbox, but the settings require one.
    #[error(
        "this kernel does not support the sandbox for shell commands (landlock) and `sandbox.required` is set; the command was not run"
    )]
    Absent,
    /// A writable directory was replaced by a symbolic link, or its path now contains one.
    #[error(
        "cannot set up the sandbox: {} is a symbolic link or its path contains one; the command was not run",
        .0.display()
    )]
    Link(PathBuf),
    /// The kernel refused the rules.
    #[error("cannot set up the sandbox: {0}; the command was not run")]
    Ruleset(#[from] RulesetError),
    /// The command cannot be started.
    #[error("cannot start {}: {source}", .program.to_string_lossy())]
    Start {
        /// Program of the command.
        program: OsString,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Starts a session without a terminal, restricts this process if requested, and executes the
/// command: `[--sandbox] [--required] [--write PATH]… -- PROGRAM ARGUMENT…`. Returns only on
/// failure. Call it before other threads start, because they would not be restricted.
///
/// # Errors
/// [`SandboxError`]; the command was not run.
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
    // A session has no terminal until its leader opens one, so `/dev/tty` does not work.
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
    fn invalid_arguments_start_nothing() {
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
