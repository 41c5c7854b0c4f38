//! Alternative roles of either program: the sandbox of a command, the team's tools, or git. Checked first, because
//! the sandbox applies to the only thread.

use std::process::ExitCode;

use swarm_protocol::SANDBOX_HELPER;
use swarm_runtimes::{TEAM_TOOLS_RELAY, TEAM_TOOLS_VARIABLE, relay_team_tools};
use swarm_tools::sandbox::run_helper;

use crate::environment::raw_variable;
use crate::output::say;
use crate::shim::act_as_git;

/// Shell exit code for a command that was found but cannot be executed.
const NOT_RUN: u8 = 126;

/// Runs the alternative role if this process was started for one.
pub(crate) fn run_alternative_role() -> Option<ExitCode> {
    act_as_git()
        .or_else(act_as_sandbox)
        .or_else(act_as_team_tools)
}

fn act_as_sandbox() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == SANDBOX_HELPER).then(|| {
        run_helper(words).unwrap_or_else(|error| {
            say(&format!("swarm: {error}"));
            ExitCode::from(NOT_RUN)
        })
    })
}

fn act_as_team_tools() -> Option<ExitCode> {
    (std::env::args_os().nth(1)? == TEAM_TOOLS_RELAY).then(|| {
        let address = raw_variable(TEAM_TOOLS_VARIABLE).unwrap_or_default();
        match relay_team_tools(&address.to_string_lossy()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&format!(
                    "swarm: the team's tools cannot be reached: {error}"
                ));
                ExitCode::FAILURE
            }
        }
    })
}
