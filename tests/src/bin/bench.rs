//! Measures swarm against minimal programs that do the same work. Started by `scripts/bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    swarm_tests::guarded(swarm_tests::bench::main)
}
