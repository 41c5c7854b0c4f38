//! Output: data to stdout, messages for people to stderr.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Serialize;
use swarm_config::Environment;
use swarm_store::{BrokenFile, StoreError};
use swarm_ui::Theme;
use swarm_ui::print::{Table, wrapped};

use crate::failure::{Failure, Result};
use crate::sgr::colored;

/// Help heading of the global options.
const GLOBAL: &str = "Global options";

/// Flags of every command.
#[derive(Debug, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Team to use [default: `SWARM_TEAM`, else the newest team of this repository or directory, else the newest team].
    #[arg(short, long, global = true, help_heading = GLOBAL, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// Print JSON, including errors.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print only data, errors and warnings about disabled safeguards.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Write a log file to `swarm/logs` in the config directory.
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print help.
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

impl GlobalArgs {
    /// Returns the flags of a command with this team and output.
    pub(crate) fn of(team: Option<String>, output: Output) -> Self {
        Self {
            team,
            json: output.json,
            quiet: output.quiet,
            verbose: 0,
            help: None,
        }
    }
}

/// Output settings of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// Style of tables on stdout.
    pub(crate) theme: Theme,
}

impl Output {
    pub(crate) fn new(env: &Environment, global: &GlobalArgs) -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal_width(io::stdout());
        let theme = Theme {
            color: env.color(terminal),
            width,
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            theme,
        }
    }

    /// Prints the result of a command to stdout: a document with `--json`, otherwise a text.
    pub(crate) fn result(self, document: &impl Serialize, text: &str) -> Result<()> {
        if self.json {
            self.json(document)
        } else {
            self.data(text)
        }
    }

    /// Prints a list to stdout: a document with `--json`, otherwise a table. Instead of an empty
    /// table it prints `none` to stderr.
    pub(crate) fn list(self, document: &impl Serialize, table: &Table, none: &str) -> Result<()> {
        if self.json {
            self.json(document)
        } else if table.is_empty() {
            self.say(none);
            Ok(())
        } else {
            self.table(table)
        }
    }

    /// Prints a JSON document to stdout.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.piece(&format!("{}\n", json_text(&text)))
    }

    /// Prints a JSON line to stdout.
    pub(crate) fn json_line(self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value)?;
        self.piece(&format!("{}\n", json_text(&text)))
    }

    /// Prints text and a newline to stdout. Control sequences are removed.
    pub(crate) fn data(self, text: &str) -> Result<()> {
        self.piece(&format!("{}\n", plain(text)))
    }

    /// Prints prose to stdout like [`Output::data`], wrapped on a terminal.
    pub(crate) fn wrapped(self, text: &str) -> Result<()> {
        let width = self.theme.width.unwrap_or(usize::MAX);
        let rows = text.split('\n').flat_map(|line| wrapped(line, width));
        self.data(&rows.collect::<Vec<_>>().join("\n"))
    }

    /// Prints colored text to stdout. Colors in foreign text were already removed; other control
    /// sequences are removed here.
    pub(crate) fn drawn(self, text: &str) -> Result<()> {
        let mut shown = if self.theme.color {
            colored(text)
        } else {
            plain(text)
        };
        shown.push('\n');
        self.piece(&shown)
    }

    /// Prints text to stdout unchanged: scripts, pages and sanitized text.
    #[expect(clippy::unused_self, reason = "the single function that prints")]
    pub(crate) fn piece(self, text: &str) -> Result<()> {
        if capture(text) {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Prints a table to stdout.
    pub(crate) fn table(self, table: &Table) -> Result<()> {
        self.drawn(table.render(self.theme).trim_end())
    }

    /// Returns whether stdout is still open; following a file into a closed pipe is pointless.
    #[expect(clippy::unused_self, reason = "the single function that prints")]
    pub(crate) fn is_wanted(self) -> bool {
        let stdout = io::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        let looked = rustix::event::poll(&mut fds, Some(&Timespec::default()));
        looked.is_err() || !fds[0].revents().contains(PollFlags::ERR)
    }

    /// Prints a line about a disabled safeguard to stderr, also with `--quiet`. Omitted with
    /// `--json`, where stderr only contains errors.
    pub(crate) fn warn(self, line: &str) {
        if !self.json {
            say(line);
        }
    }

    /// Prints the files of a list that could not be read to stderr, also with `--quiet` and
    /// `--json`, because the printed list is incomplete.
    pub(crate) fn left_out(self, files: &[BrokenFile]) {
        for file in files {
            self.remark(&format!("left out: {}", StoreError::from(file.clone())));
        }
    }

    /// Prints a warning to stderr, also with `--quiet`, and as JSON with `--json`.
    pub(crate) fn remark(self, line: &str) {
        if self.json {
            say_json(&serde_json::json!({ "warning": { "message": line } }));
        } else {
            say(&format!("swarm: {line}"));
        }
    }

    /// Prints a message to stderr, unless `--quiet` or `--json` is set.
    pub(crate) fn say(self, line: &str) {
        if !self.quiet && !self.json {
            say(line);
        }
    }
}

/// Converts the result of writing to stdout.
pub(crate) fn written(done: io::Result<()>) -> Result<()> {
    match done {
        // The reader closed the pipe, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let message = format!("the output could not be written to stdout: {error}");
            Err(Failure::environment(message).with_hint("earlier effects of the command remain"))
        }
        Ok(()) => Ok(()),
    }
}

/// Prints a message to stderr without control sequences. Long lines are wrapped on a terminal.
pub(crate) fn say(text: &str) {
    let text = &plain(text);
    match terminal_width(io::stderr()) {
        Some(width) => text
            .split('\n')
            .for_each(|line| say_raw(&wrapped(line, width).join("\n"))),
        None => say_raw(text),
    }
}

thread_local! {
    /// Output of this thread while it is captured.
    static CAPTURED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a function and captures what this thread prints to stdout and stderr.
pub(crate) fn captured<T>(run: impl FnOnce() -> T) -> (T, String) {
    CAPTURED.with_borrow_mut(|text| *text = Some(String::new()));
    let done = run();
    (done, CAPTURED.take().unwrap_or_default())
}

/// Captures a text if this thread's output is captured.
fn capture(text: &str) -> bool {
    CAPTURED.with_borrow_mut(|captured| captured.as_mut().map(|all| all.push_str(text)).is_some())
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Formats a failure: the message and an indented hint.
pub(crate) fn failure_text(failure: &Failure) -> String {
    // Indented, so that a line in foreign text, such as a path, does not look like a message of
    // swarm.
    let indented = |text: &str| plain(text).replace('\n', "\n  ");
    let mut text = format!("swarm: {}", indented(&failure.message));
    if let Some(hint) = &failure.hint {
        // Writing into a String cannot fail.
        let _infallible = write!(text, "\n  {}", indented(hint));
    }
    text
}

/// Prints a JSON document to stderr.
pub(crate) fn say_json(value: &serde_json::Value) {
    say_raw(&json_text(&value.to_string()));
}

/// Serializes JSON with escaped terminal control characters: programs parse the same value, and a
/// terminal is not affected. JSON itself only requires this for the first 32 characters.
fn json_text(text: &str) -> String {
    let is_obeyed = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) {
            // Writing into a String cannot fail.
            let _infallible = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Prints a line to stderr unchanged. Errors are ignored, because they cannot be reported.
pub(crate) fn say_raw(line: &str) {
    if capture(&format!("{line}\n")) {
        return;
    }
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Returns the width of the terminal; `None` without a terminal.
pub(crate) fn terminal_width(place: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(place).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Returns the height of the terminal; `None` without a terminal.
pub(crate) fn terminal_height(place: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(place).ok()?;
    (size.ws_row > 0).then(|| usize::from(size.ws_row))
}

/// Returns foreign text without control sequences.
pub(crate) fn plain(text: &str) -> String {
    swarm_ui::clean_text(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_escapes_terminal_control_characters() {
        let value = serde_json::json!({"a\u{9b}2J": "\u{202e}x\u{7f}\u{1b}ä"});
        assert_eq!(
            json_text(&value.to_string()),
            r#"{"a\u009b2J":"\u202ex\u007f\u001bä"}"#
        );
    }

    proptest! {
        #[test]
        fn programs_read_the_same(key in any::<String>(), text in "(\\PC|\\pC|\\\\|\"){0,40}") {
            let value = serde_json::json!({ key: [text] });
            let shown = json_text(&serde_json::to_string_pretty(&value).unwrap());
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
            let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
            prop_assert_eq!(read, value);
        }
    }
}
