//! The parts that further processes of a bench play.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::floor::{receiver, sender};
use super::rows::{send, spawn};

/// The first argument of a process that plays a part.
pub(crate) const FLAG: &str = "--part";

/// Plays a part: its name, then what it needs to know.
///
/// # Errors
/// Whatever keeps it from its part.
pub(crate) fn play(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["receive", rest @ ..] => receiver::play(rest),
        ["send", rest @ ..] => sender::play(rest),
        ["drain", rest @ ..] => sender::drain(rest),
        ["write", rest @ ..] => send::write(rest),
        ["read", rest @ ..] => send::read(rest),
        ["ask", rest @ ..] => spawn::ask(rest),
        _ => bail!("there is no such part: {words:?}"),
    }
}

/// Says that this process is ready, and waits for the word to begin.
///
/// # Errors
/// When nobody is there to say it.
pub(crate) fn ready() -> Result<()> {
    say("ready")?;
    let mut word = String::new();
    std::io::stdin().read_line(&mut word)?;
    Ok(())
}

/// A line for whoever started this process.
///
/// # Errors
/// When nobody listens.
pub(crate) fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Waits until whoever started this process has closed its stdin.
pub(crate) fn until_closed() {
    let mut line = String::new();
    while std::io::stdin()
        .read_line(&mut line)
        .is_ok_and(|read| read > 0)
    {}
}

/// A process that plays a part. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Part {
    /// Starts it and waits until it says that it is ready.
    ///
    /// # Errors
    /// When it cannot be started, or ends at once.
    pub(crate) fn start(words: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program)
            .arg(FLAG)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("stdout of a part")?;
        let mut part = Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        };
        match part.line()?.as_deref() {
            Some("ready") => Ok(part),
            other => bail!("the part {words:?} began with {other:?}"),
        }
    }

    /// Tells it to begin.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn begin(&mut self) -> Result<()> {
        let stdin = self.stdin.as_mut().context("it was told to end")?;
        stdin.write_all(b"go\n")?;
        Ok(stdin.flush()?)
    }

    /// Its next line; none at its end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn line(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim_end().to_owned()))
    }

    /// Closes its stdin and waits for its end; the lines that it still wrote.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn end(mut self) -> Result<Vec<String>> {
        self.stdin = None;
        let mut lines = Vec::new();
        while let Some(line) = self.line()? {
            lines.push(line);
        }
        let status = self.child.wait()?;
        if status.success() {
            Ok(lines)
        } else {
            bail!("a part ended with {status}: {lines:?}")
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
