//! A program that takes over the terminal: raw mode, alternate screen, no cursor, mouse reports,
//! and every key. It restores nothing.

use std::fs::File;
use std::io::{Read as _, Write as _};

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

fn main() -> anyhow::Result<()> {
    swarm_tests::hostile::answer_version();
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let mut attributes = tcgetattr(&terminal)?;
    attributes.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &attributes)?;
    terminal.write_all(b"\x1b[?1049h\x1b[?25l\x1b[?1003h\x1b[2J\x1b]52;c;c3RvbGVu\x07mine")?;
    let mut keys = [0; 64];
    while terminal.read(&mut keys)? > 0 {}
    Ok(())
}
