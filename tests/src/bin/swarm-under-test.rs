//! `swarm` and `swarm-teammate` in one program for tests, selected by the name under which it is
//! called. Built here so that cargo passes its path to tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    let called = std::env::current_exe().unwrap_or_default();
    if called
        .file_name()
        .is_some_and(|name| name == "swarm-teammate")
    {
        swarm::teammate_main_impl()
    } else {
        swarm::main_impl()
    }
}
