//! A teammate that prints some lines and exits with 7 before its hello.

use std::process::ExitCode;

fn main() -> ExitCode {
    swarm_tests::hostile::answer_version();
    for line in [
        "reading the configuration",
        "the flux capacitor is missing",
        "giving up",
    ] {
        swarm_tests::hostile::say(line);
    }
    ExitCode::from(7)
}
