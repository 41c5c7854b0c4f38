//! Why the helper did not run a command.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use landlock::RulesetError;

use super::words::HELPER_WORD;

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
