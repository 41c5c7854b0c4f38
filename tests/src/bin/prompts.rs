//! A program that asks a person a question before anything else, and waits for the answer.

use std::io::{self, Write as _};

fn main() {
    swarm_tests::hostile::answer_version();
    swarm_tests::hostile::say("Welcome back.");
    let mut out = io::stdout();
    // The other end may be closed.
    drop(write!(
        out,
        "Do you trust the files in this directory? [y/N] "
    ));
    drop(out.flush());
    swarm_tests::hostile::stay()
}
