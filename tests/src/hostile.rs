//! Support for the hostile programs.

use std::io::{self, Write as _};

/// Answers a version query of a program that plays a teammate: the fault must occur later.
pub fn answer_version() {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        say(concat!("swarm-teammate ", env!("CARGO_PKG_VERSION")));
        #[expect(clippy::exit, reason = "the query is answered")]
        std::process::exit(0);
    }
}

/// Writes a line, ignoring errors.
pub fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}

/// Sleeps until a signal ends the process.
pub fn stay() -> ! {
    loop {
        std::thread::park();
    }
}
