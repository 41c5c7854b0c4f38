//! The long runs of everything that goes wrong: `stress [PART…] [--seed N] [--minutes M]`.

use std::process::ExitCode;

fn main() -> ExitCode {
    swarm_tests::guarded(swarm_tests::faults::stress::main)
}
