//! A teammate that never sends its hello if its name begins with `silent`, and is the real program
//! otherwise.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument.starts_with("silent")) {
        swarm_tests::hostile::say("I stay.");
        swarm_tests::hostile::stay();
    }
    swarm::teammate_main_impl()
}
