//! The sandbox helper: leaves the terminal, restricts itself and runs the command or starts the
//! agent's commands, or keeps the namespaces of an agent.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode};

use rustix::process::{Signal, getpid, kill_process, setsid};
use swarm_os::namespaces::{drop_system_privileges, join_namespaces};
use swarm_protocol::SandboxNetwork;

use super::arguments::{HelperArguments, HelperTask};
use super::error::SandboxError;
use super::init::{be_first_process, host_namespaces};
use super::landlock::restrict;
use super::serve::serve_commands;
use super::system_calls::{InternetSockets, filter_system_calls};
use super::words::COMMAND;

/// Runs the helper: `[OPTION]… -- [PROGRAM ARGUMENT…]`. Returns the exit code, unless the command
/// replaces this process. Call it before other threads start, because they would not be restricted.
///
/// # Errors
/// [`SandboxError`]; the command was not run.
pub fn run_helper(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, SandboxError> {
    let mut arguments = arguments.into_iter();
    let given = HelperArguments::parse(&mut arguments)?;
    if given.task == HelperTask::Init {
        return be_first_process(&given);
    }
    // A session has no terminal until its leader opens one, so `/dev/tty` does not work.
    setsid().map_err(SandboxError::Session)?;
    if given.task == HelperTask::Host {
        return host_namespaces(given);
    }
    confine(&given)?;
    if given.serves {
        return serve_commands();
    }
    let program = arguments
        .next()
        .ok_or_else(|| SandboxError::Arguments(COMMAND.into()))?;
    let mut command = Command::new(&program);
    command.args(arguments);
    let source = match given.task {
        // Only a child is in the process namespace.
        HelperTask::Join(_) => match command.status() {
            Ok(status) => return Ok(exit_like(status)),
            Err(source) => source,
        },
        _ => command.exec(),
    };
    Err(SandboxError::Start { program, source })
}

/// Restricts this process for its task.
fn confine(given: &HelperArguments) -> Result<(), SandboxError> {
    let (namespaced, internet, sees_others) = match &given.task {
        HelperTask::Join(member) => {
            let namespaced = join_namespaces(member).map_err(SandboxError::Join)?;
            // A network namespace separates it, if that is requested.
            (namespaced, InternetSockets::All, false)
        }
        HelperTask::Landlock => {
            restrict(&given.view, given.proxy_port)?;
            let internet = match (given.network, given.proxy_port) {
                (_, Some(_)) => InternetSockets::Client,
                (SandboxNetwork::Open, None) => InternetSockets::All,
                (SandboxNetwork::Proxy | SandboxNetwork::None, None) => InternetSockets::None,
            };
            (false, internet, true)
        }
        _ => return Ok(()),
    };
    drop_system_privileges(namespaced).map_err(SandboxError::Privileges)?;
    filter_system_calls(given.unix_sockets, internet, sees_others)
}

/// Ends as the command did.
fn exit_like(status: std::process::ExitStatus) -> ExitCode {
    let signal = status.signal();
    if let Some(signal) = signal.and_then(Signal::from_named_raw) {
        // Ends this process, unless it ignores the signal.
        kill_process(getpid(), signal).unwrap_or_default();
    }
    let code = status.code().unwrap_or(128 + signal.unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_arguments_start_nothing() {
        for words in [&[][..], &["--wrong"], &["--write", "/x"], &["--landlock"]] {
            let result = run_helper(words.iter().map(OsString::from));
            assert!(
                matches!(result, Err(SandboxError::Arguments(_))),
                "{words:?}: {result:?}"
            );
        }
    }
}
