//! `swarm` and `swarm-teammate` in one, for tests: the name under which it is called says which of them it is. Built
//! here so that cargo tells tests where it is.

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
