//! Long-running fault tests: `stress [PART…] [--seed N] [--minutes M]`.

use std::process::ExitCode;

fn main() -> ExitCode {
    swarm_tests::guarded(swarm_tests::faults::stress::main)
}
