//! What either program may be besides itself: the sandbox of a command, or git. Decided before anything else is done, since
//! the sandbox holds the one thread that there is.

use std::process::ExitCode;

use swarm_tools::sandbox::{HELPER_WORD, become_command};

use crate::output::say;
use crate::shim::act_as_git;

/// The exit code of a shell for a command that was found and cannot be run.
const NOT_RUN: u8 = 126;

/// Acts as something else, if that is what this process was started for.
pub(crate) fn first_act() -> Option<ExitCode> {
    act_as_git().or_else(act_as_sandbox)
}

fn act_as_sandbox() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == HELPER_WORD).then(|| {
        say(&format!("swarm: {}", become_command(words)));
        ExitCode::from(NOT_RUN)
    })
}
