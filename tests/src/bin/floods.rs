//! A program that writes endlessly: invalid text and sequences that would take over a terminal.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    swarm_tests::hostile::answer_version();
    let mut out = io::stdout().lock();
    let mut line = 0_u64;
    loop {
        writeln!(
            out,
            "{line} \x1b]0;title\x07\x1b[2J\x1b[31m flood {}",
            "x".repeat(200)
        )?;
        out.write_all(b"\xff\xfe\n")?;
        line += 1;
    }
}
