//! Roles of the further processes of a benchmark.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::floor::{hub as bare_hub, receiver, sender};
use super::rows::{hub, send, spawn};

/// The first argument of a process with a role.
pub(crate) const FLAG: &str = "--part";

/// Runs a role: its name, then its arguments.
pub(crate) fn play(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["receive", rest @ ..] => receiver::play(rest),
        ["send", rest @ ..] => sender::play(rest),
        ["drain", rest @ ..] => sender::drain(rest),
        ["write", rest @ ..] => send::write(rest),
        ["read", rest @ ..] => send::read(rest),
        ["ask", rest @ ..] => spawn::ask(rest),
        ["hub-write", rest @ ..] => hub::write(rest),
        ["hub-read", rest @ ..] => hub::read(rest),
        ["bare-send", rest @ ..] => bare_hub::play(rest),
        ["bare-drain", rest @ ..] => bare_hub::drain(rest),
        ["bare-ask", rest @ ..] => bare_hub::ask(rest),
        _ => bail!("unknown role: {words:?}"),
    }
}

/// Reports that this process is ready, and waits for the start signal.
pub(crate) fn ready() -> Result<()> {
    say("ready")?;
    let mut word = String::new();
    std::io::stdin().read_line(&mut word)?;
    Ok(())
}

/// Writes a line to the parent.
pub(crate) fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Waits until the parent has closed stdin.
pub(crate) fn until_closed() {
    let mut line = String::new();
    while std::io::stdin()
        .read_line(&mut line)
        .is_ok_and(|read| read > 0)
    {}
}

/// A process with a role, killed on drop.
#[derive(Debug)]
pub(crate) struct Part {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Part {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(words: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program)
            .arg(FLAG)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("stdout of a process")?;
        let mut part = Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        };
        match part.line()?.as_deref() {
            Some("ready") => Ok(part),
            other => bail!("the process {words:?} printed {other:?} instead of `ready`"),
        }
    }

    /// Sends the start signal.
    pub(crate) fn begin(&mut self) -> Result<()> {
        let stdin = self.stdin.as_mut().context("its stdin is closed")?;
        stdin.write_all(b"go\n")?;
        Ok(stdin.flush()?)
    }

    /// Returns its next line; `None` at the end.
    pub(crate) fn line(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim_end().to_owned()))
    }

    /// Closes its stdin and waits for its exit; returns its remaining lines.
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
            bail!("a process exited with {status}: {lines:?}")
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have exited.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
