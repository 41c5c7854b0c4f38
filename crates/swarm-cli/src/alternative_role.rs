//! Alternative roles of either program: the sandbox of a command, an MCP server of an agent program, or git. Checked first, because
//! the sandbox applies to the only thread.

use std::process::ExitCode;

use swarm_protocol::SANDBOX_HELPER;
use swarm_runtimes::{MCP_RELAY, MCP_RELAY_VARIABLE, relay_mcp_server};
use swarm_tools::sandbox::run_helper;

use crate::environment::raw_variable;
use crate::output::say;
use crate::shim::act_as_git;

/// Shell exit code for a command that was found but cannot be executed.
const NOT_RUN: u8 = 126;

/// Runs the alternative role if this process was started for one.
pub(crate) fn run_alternative_role() -> Option<ExitCode> {
    act_as_git().or_else(act_as_sandbox).or_else(act_as_relay)
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

fn act_as_relay() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == MCP_RELAY).then(|| {
        let address = raw_variable(MCP_RELAY_VARIABLE).unwrap_or_default();
        let server = words.next().unwrap_or_default();
        let server = server.to_string_lossy();
        match relay_mcp_server(&address.to_string_lossy(), &server) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&format!("swarm: the MCP server cannot be reached: {error}"));
                ExitCode::FAILURE
            }
        }
    })
}
