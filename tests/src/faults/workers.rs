//! Starts and kills workers.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use super::log::{Line, lines, path_of};

/// The programs of the tests.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `works-on-a-team`.
    pub worker: PathBuf,
    /// `writes-as-others-do`.
    pub other: PathBuf,
    /// `swarm-under-test`.
    pub swarm: PathBuf,
    /// A directory on the same file system, in which worlds create links.
    pub links: PathBuf,
}

impl Programs {
    /// Returns the programs next to a program.
    pub fn beside(program: &Path) -> Self {
        let directory = program.parent().unwrap_or(Path::new("."));
        Self {
            worker: directory.join("works-on-a-team"),
            other: directory.join("writes-as-others-do"),
            swarm: directory.join("swarm-under-test"),
            links: directory.to_owned(),
        }
    }
}

/// A running worker, killed on drop.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    /// Name of the worker.
    pub name: String,
    log: PathBuf,
}

impl Worker {
    /// Starts a program with a log of this worker's name below `logs`; it continues the log of its
    /// predecessor.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(mut command: Command, logs: &Path, name: &str) -> Self {
        let errors = File::options()
            .create(true)
            .append(true)
            .open(logs.join(format!("{name}.stderr")))
            .expect("a file for stderr");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self {
            child,
            name: name.to_owned(),
            log: path_of(logs, name),
        }
    }

    /// Sends SIGKILL and waits. Returns whether that terminated it: it may have finished before.
    ///
    /// # Panics
    /// If it failed by itself.
    pub fn kill(&mut self) -> bool {
        self.child.kill().expect("a child to kill");
        let status = self.child.wait().expect("a killed child");
        let was_killed = status.signal() == Some(Signal::KILL.as_raw());
        assert!(
            was_killed || status.success(),
            "{} ended with {status}:\n{}",
            self.name,
            self.errors()
        );
        was_killed
    }

    /// Returns its pid.
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Returns whether it has finished.
    ///
    /// # Panics
    /// If it failed.
    pub fn has_finished(&mut self) -> bool {
        match self.child.try_wait().expect("a child") {
            None => false,
            Some(status) if status.success() => true,
            Some(status) => panic!("{} ended with {status}:\n{}", self.name, self.errors()),
        }
    }

    /// Waits until it finishes.
    ///
    /// # Panics
    /// If it failed.
    pub fn finish(mut self) {
        let status = self.child.wait().expect("a child");
        assert!(
            status.success(),
            "{}: {status}\n{}",
            self.name,
            self.errors()
        );
    }

    /// Returns its log, including that of its predecessors.
    pub fn said(&self) -> Vec<Line> {
        lines(&self.log)
    }

    fn errors(&self) -> String {
        let path = self.log.with_file_name(format!("{}.stderr", self.name));
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
