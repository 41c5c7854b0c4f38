//! A started program and its result.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::wait::wait_until;

/// Timeout of a command; whole teams take some seconds.
const LONGEST: Duration = Duration::from_mins(1);

/// A finished program.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Command line.
    pub line: String,
    /// Exit code; `None` if it was terminated by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Asserts the exit code.
    ///
    /// # Panics
    /// If it differs; shows the whole output.
    #[track_caller]
    #[must_use = "what it printed was asked for, or use `assert_code`"]
    pub fn code(self, code: i32) -> Self {
        self.assert_code(code);
        self
    }

    /// Asserts the exit code.
    ///
    /// # Panics
    /// If it differs; shows the whole output.
    #[track_caller]
    pub fn assert_code(&self, code: i32) {
        assert_eq!(self.code, Some(code), "\n{}", self.story());
    }

    /// Asserts success.
    ///
    /// # Panics
    /// If it failed; shows the whole output.
    #[track_caller]
    pub fn ok(&self) -> &Self {
        self.assert_code(0);
        self
    }

    /// Asserts that stdout contains `text`.
    ///
    /// # Panics
    /// Otherwise; shows the whole output.
    #[track_caller]
    pub fn stdout_has(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "{}", self.story());
        self
    }

    /// Asserts that stdout does not contain `text`.
    ///
    /// # Panics
    /// Otherwise; shows the whole output.
    #[track_caller]
    pub fn stdout_lacks(&self, text: &str) -> &Self {
        assert!(!self.stdout.contains(text), "{}", self.story());
        self
    }

    /// Asserts that stderr contains `text`.
    ///
    /// # Panics
    /// Otherwise; shows the whole output.
    #[track_caller]
    pub fn stderr_has(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "{}", self.story());
        self
    }

    /// Asserts that stderr does not contain `text`.
    ///
    /// # Panics
    /// Otherwise; shows the whole output.
    #[track_caller]
    pub fn stderr_lacks(&self, text: &str) -> &Self {
        assert!(!self.stderr.contains(text), "{}", self.story());
        self
    }

    /// Asserts success and parses stdout as one JSON document.
    ///
    /// # Panics
    /// If it failed or the output is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.ok();
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not JSON: {error}\n{}", self.story()),
        }
    }

    /// Asserts success and parses stdout as JSON lines.
    ///
    /// # Panics
    /// If it failed or the output is not JSON lines.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.ok();
        let read = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("not a line of JSON: {error}: {line}\n{}", self.story()),
        };
        self.stdout.lines().map(read).collect()
    }

    /// Asserts that it failed with this code under `--json`, and returns the `error` object from
    /// stderr.
    ///
    /// # Panics
    /// If the code or the format differs.
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

    /// Returns the command, its exit code and its output.
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

/// A running program, killed on drop.
#[derive(Debug)]
pub struct Running {
    pub(super) line: String,
    pub(super) child: Child,
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
}

impl Running {
    /// Returns its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns stdout so far.
    pub fn stdout(&self) -> String {
        read(&self.stdout)
    }

    /// Returns stderr so far.
    pub fn stderr(&self) -> String {
        read(&self.stderr)
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If it has exited.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{}: {error}", self.line));
    }

    /// Returns whether it has exited.
    ///
    /// # Panics
    /// If the operating system reports an error.
    pub fn has_ended(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("the state of a child")
            .is_some()
    }

    /// Waits for its exit.
    ///
    /// # Panics
    /// On timeout, after killing it.
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
        // Both fail only if it has exited and was reaped.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(path: &PathBuf) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
