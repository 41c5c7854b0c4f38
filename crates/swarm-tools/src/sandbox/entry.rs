//! The sandbox helper: leaves the terminal, restricts itself and executes the command.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::setsid;

use super::error::SandboxError;
use super::restrict::{SandboxLevel, restrict};
use super::words::{COMMAND, REQUIRED, SANDBOX, WRITE};

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
