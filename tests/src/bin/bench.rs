//! Measures swarm beside bare programs that do the least that the same work can be done with. Started by `scripts/bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    swarm_tests::guarded(swarm_tests::bench::main)
}
