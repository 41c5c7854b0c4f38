//! Printing: data to stdout, words for people to stderr.

use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Serialize;
use swarm_protocol::ErrorKind;
use swarm_ui::Theme;
use swarm_ui::print::{Table, wrapped};

use crate::args::GlobalArgs;
use crate::environment::Environment;
use crate::failure::Failure;

/// How a command prints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// For tables on stdout.
    pub(crate) theme: Theme,
}

impl Output {
    pub(crate) fn new(env: &Environment, global: &GlobalArgs) -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal_width(io::stdout());
        let theme = Theme {
            color: env.color(terminal),
            width,
            unicode: true,
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            theme,
        }
    }

    /// One JSON document on stdout.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?;
        self.data(&text)
    }

    /// One JSON line on stdout.
    pub(crate) fn json_line(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(anyhow::Error::from)?;
        self.data(&text)
    }

    /// Text on stdout, with a line end.
    pub(crate) fn data(self, text: &str) -> Result<(), Failure> {
        self.piece(&format!("{text}\n"))
    }

    /// Text on stdout as it is.
    #[expect(
        clippy::unused_self,
        reason = "everything is printed through the same door"
    )]
    pub(crate) fn piece(self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            // Whoever reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => {
                let message = format!("the output could not be written to stdout: {error}");
                Err(Failure::new(ErrorKind::Environment, message)
                    .with_hint("what the command had done before that stands"))
            }
            Ok(()) => Ok(()),
        }
    }

    /// A table on stdout.
    pub(crate) fn table(self, table: &Table) -> Result<(), Failure> {
        self.data(table.render(self.theme).trim_end())
    }

    /// Whether anybody still reads stdout; a pipe whose reader has left is no place to follow anything into.
    #[expect(
        clippy::unused_self,
        reason = "everything is printed through the same door"
    )]
    pub(crate) fn is_wanted(self) -> bool {
        let stdout = io::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        let looked = rustix::event::poll(&mut fds, Some(&Timespec::default()));
        looked.is_err() || !fds[0].revents().contains(PollFlags::ERR)
    }

    /// A line on stderr about a guard that is off, which is heard when quiet too; nothing where a program reads, for which
    /// stderr has errors only.
    pub(crate) fn warn(self, line: &str) {
        if !self.json {
            say(line);
        }
    }

    /// A line for people, on stderr; nothing when quiet, nor where a program reads, for which stderr has errors only.
    pub(crate) fn say(self, line: &str) {
        if !self.quiet && !self.json {
            say(line);
        }
    }
}

/// Words for people, a line or several. On a terminal long lines are broken between words.
pub(crate) fn say(text: &str) {
    match terminal_width(io::stderr()) {
        Some(width) => text
            .split('\n')
            .for_each(|line| say_raw(&wrapped(line, width))),
        None => say_raw(text),
    }
}

/// A line on stderr that a program reads. Nobody can be told when stderr itself is gone.
pub(crate) fn say_raw(line: &str) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Columns of the terminal that is there; `None` if none is.
pub(crate) fn terminal_width(place: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(place).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Rows of the terminal on stdout.
pub(crate) fn terminal_height() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_row > 0).then(|| usize::from(size.ws_row))
}

/// A text of others, without anything that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    swarm_ui::clean_text(text)
}
