//! A started program and what became of it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::wait::wait_until;

/// Longest run of one command; whole teams at work take some seconds.
const LONGEST: Duration = Duration::from_mins(1);

/// A program that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it was called.
    pub line: String,
    /// Its exit code; absent when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote for programs.
    pub stdout: String,
    /// What it wrote for people.
    pub stderr: String,
}

impl Finished {
    /// Asserts that it ended with this exit code.
    ///
    /// # Panics
    /// When it did not; shows everything that it wrote.
    #[track_caller]
    #[must_use = "what it printed was asked for, or use `assert_code`"]
    pub fn code(self, code: i32) -> Self {
        self.assert_code(code);
        self
    }

    /// Asserts that it ended with this exit code.
    ///
    /// # Panics
    /// When it did not; shows everything that it wrote.
    #[track_caller]
    pub fn assert_code(&self, code: i32) {
        assert_eq!(self.code, Some(code), "\n{}", self.story());
    }

    /// Asserts success.
    ///
    /// # Panics
    /// When it failed; shows everything that it wrote.
    #[track_caller]
    pub fn ok(&self) -> &Self {
        self.assert_code(0);
        self
    }

    /// Asserts success and reads stdout as one JSON document.
    ///
    /// # Panics
    /// When it failed or wrote something else.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.ok();
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not JSON: {error}\n{}", self.story()),
        }
    }

    /// Asserts success and reads stdout as JSON lines.
    ///
    /// # Panics
    /// When it failed or wrote something else.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.ok();
        let read = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("not a line of JSON: {error}: {line}\n{}", self.story()),
        };
        self.stdout.lines().map(read).collect()
    }

    /// Asserts that it failed with this code under `--json`, and gives the `error` object from stderr.
    ///
    /// # Panics
    /// When code or form differ.
    #[track_caller]
    pub fn error(&self, code: i32) -> Value {
        self.assert_code(code);
        let last = self.stderr.trim().lines().last().unwrap_or_default();
        let document: Option<Value> = [self.stderr.as_str(), last]
            .into_iter()
            .find_map(|text| serde_json::from_str(text).ok());
        let error = document.map(|mut document| document["error"].take());
        match error {
            Some(error) if error["code"] == code => error,
            _ => panic!("stderr has no JSON error of code {code}\n{}", self.story()),
        }
    }

    /// Everything about it, for people.
    pub fn story(&self) -> String {
        let mut story = format!("$ {}\nexit code {:?}\n", self.line, self.code);
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                // Writing into a String cannot fail.
                let _infallible = write!(story, "--- {name}\n{}\n", text.trim_end());
            }
        }
        story
    }
}

/// A program that runs. It is killed when this is dropped before it has ended.
#[derive(Debug)]
pub struct Running {
    pub(super) line: String,
    pub(super) child: Child,
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
}

impl Running {
    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stdout so far.
    pub fn stdout(&self) -> String {
        read(&self.stdout)
    }

    /// What it has written to stderr so far.
    pub fn stderr(&self) -> String {
        read(&self.stderr)
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{}: {error}", self.line));
    }

    /// Whether it has ended.
    ///
    /// # Panics
    /// When the operating system does not say.
    pub fn has_ended(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("the state of a child")
            .is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end in time; it is killed then.
    #[track_caller]
    pub fn wait(mut self) -> Finished {
        let outcome = wait_until("the end of the program", LONGEST, || {
            self.child.try_wait().ok()?
        });
        let status = match outcome {
            Ok(status) => status,
            Err(in_vain) => {
                let so_far = self.finished(None);
                panic!("{in_vain}\n{}", so_far.story());
            }
        };
        self.finished(Some(status))
    }

    fn finished(&self, status: Option<ExitStatus>) -> Finished {
        Finished {
            line: self.line.clone(),
            code: status.and_then(|status| status.code()),
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended and was waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(path: &PathBuf) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
