//! Why the helper did not run a command.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use landlock::RulesetError;
use swarm_os::namespaces::MountError;
use swarm_protocol::SANDBOX_HELPER;

/// Reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The arguments are invalid.
    #[error("`{SANDBOX_HELPER}` is for internal use and does not accept `{}`", .0.to_string_lossy())]
    Arguments(OsString),
    /// This process leads a process group, as a job of an interactive shell does.
    #[error("cannot leave the terminal: {0}; the command was not run")]
    Session(rustix::io::Errno),
    /// Landlock does not work, although it did when the agent started.
    #[error("this kernel does not support landlock; the command was not run")]
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
    /// The kernel refused the system call filter.
    #[error("cannot filter system calls: {0}; the command was not run")]
    Filter(#[from] seccompiler::Error),
    /// The system call filter could not be built, for example for this processor.
    #[error("cannot filter system calls: {0}; the command was not run")]
    FilterRules(#[from] seccompiler::BackendError),
    /// The namespaces could not be created.
    #[error("cannot create namespaces: {0}")]
    Namespaces(io::Error),
    /// The file system of the namespaces could not be set up.
    #[error("cannot set up the sandbox's file system: {0}")]
    Mounts(#[from] MountError),
    /// The namespaces could not be joined.
    #[error("cannot enter the sandbox: {0}; the command was not run")]
    Join(io::Error),
    /// The agent's requests could not be received.
    #[error("cannot receive requests: {0}")]
    Requests(io::Error),
    /// Privileges could not be dropped.
    #[error("cannot drop privileges: {0}; the command was not run")]
    Privileges(io::Error),
    /// The command cannot be started.
    #[error("cannot start {}: {source}", .program.to_string_lossy())]
    Start {
        /// Program of the command.
        program: OsString,
        /// Error of the operating system.
        source: io::Error,
    },
}
