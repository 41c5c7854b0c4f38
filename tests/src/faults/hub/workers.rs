//! The processes on the machines.

use std::process::Command;
use std::time::Duration;

use swarm_protocol::SpawnId;

use super::machines::Machines;
use crate::faults::ground::reserve;
use crate::faults::log::{lines, path_of};
use crate::faults::worker::{READER, transcript_of};
use crate::faults::workers::{Programs, Worker};

/// A process that competes for tasks. It holds the lease of its member.
pub(super) struct Racer {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) spawn: SpawnId,
    /// Whether the spawn is committed, which it is after it has taken its lease.
    pub(super) is_committed: bool,
    /// `None` once it was killed or has exited.
    pub(super) process: Option<Worker>,
}

impl Machines {
    /// Returns the machine of the worker with this number.
    pub(super) fn of(&self, number: usize) -> usize {
        number % self.roots.len()
    }

    fn command(&self, programs: &Programs, role: &str, at: usize, log: &str) -> Command {
        let mut command = self.links[at].command(&programs.worker);
        let log = path_of(&self.logs, log);
        command.arg(role).args([&self.roots[at], &log]);
        command
    }

    /// Starts a writer that continues after its predecessor, until `count` of its messages are
    /// acknowledged, with a pause after each. An interrupted send is not repeated.
    pub(super) fn writer(
        &self,
        programs: &Programs,
        name: &str,
        at: usize,
        count: usize,
        pause: Duration,
    ) -> Worker {
        let said = lines(&path_of(&self.logs, name));
        let number = |word| said.iter().filter(|line| line.word(0) == word).count();
        let (next, sent) = (number("begin"), number("sent"));
        let numbers = [next, next + count - sent].map(|number| number.to_string());
        let pause = pause.as_millis().to_string();
        let mut command = self.command(programs, "sends", at, name);
        command.arg(name).args(numbers).arg(pause);
        Worker::start(command, &self.logs, name)
    }

    pub(super) fn reader(&self, programs: &Programs) -> Worker {
        let transcript = transcript_of(&path_of(&self.logs, READER));
        let mut command = self.command(programs, "receives", self.of(1), READER);
        command.arg(READER).arg(transcript);
        Worker::start(command, &self.logs, READER)
    }

    /// Creates or replaces a member, and starts its process. `number` is that of its log, which belongs
    /// to the spawn; `effort` is how long it works on a task.
    pub(super) fn racer(
        &self,
        programs: &Programs,
        name: &str,
        at: usize,
        number: usize,
        effort: Duration,
    ) -> Racer {
        let spawn = reserve(&*self.team, name);
        let log = racer_log(number);
        let mut command = self.command(programs, "works", at, &log);
        let effort = effort.as_millis().to_string();
        command.args([name, &spawn.to_string(), &effort]);
        Racer {
            name: name.to_owned(),
            at,
            spawn,
            is_committed: false,
            process: Some(Worker::start(command, &self.logs, &log)),
        }
    }
}

/// Returns the name of the log of the racer with this number.
pub(super) fn racer_log(number: usize) -> String {
    format!("racer-{number}")
}
