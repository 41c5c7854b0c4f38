//! What the hostile programs share.

use std::io::{self, Write as _};

/// Where the program plays a teammate and is asked for its version, it gives the one that belongs to this build: the
/// trouble is to begin later than that.
pub fn answer_version() {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        say(concat!("swarm-teammate ", env!("CARGO_PKG_VERSION")));
        #[expect(clippy::exit, reason = "the one thing that is left to do")]
        std::process::exit(0);
    }
}

/// Writes a line for whoever looks; nobody has to.
pub fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}

/// Sleeps until a signal ends the process.
pub fn stay() -> ! {
    loop {
        std::thread::park();
    }
}
